# SPDX-License-Identifier: Apache-2.0
"""The tables of Nova's API database that a reconciler reads, as Nova 34 has them."""

from sqlalchemy import Column, Float, ForeignKey, Integer, MetaData, Table, Text, UniqueConstraint

from trueup.lab.nova.columns import flag, identity, required_string, string, text, written

API_SCHEMA = MetaData()

CELL_MAPPINGS = Table(
    "cell_mappings",
    API_SCHEMA,
    *written(),
    identity(),
    required_string("uuid", 36),
    string("name"),
    text("transport_url"),
    text("database_connection"),
    flag("disabled"),
    UniqueConstraint("uuid", name="uniq_cell_mappings0uuid"),
)

HOST_MAPPINGS = Table(
    "host_mappings",
    API_SCHEMA,
    *written(),
    identity(),
    Column("cell_id", Integer, ForeignKey("cell_mappings.id"), nullable=False),
    required_string("host"),
    UniqueConstraint("host", name="uniq_host_mappings0host"),
)

INSTANCE_MAPPINGS = Table(
    "instance_mappings",
    API_SCHEMA,
    *written(),
    identity(),
    required_string("instance_uuid", 36),
    Column("cell_id", Integer, ForeignKey("cell_mappings.id")),
    required_string("project_id"),
    flag("queued_for_delete"),
    string("user_id"),
    UniqueConstraint("instance_uuid", name="uniq_instance_mappings0instance_uuid"),
)

BUILD_REQUESTS = Table(
    "build_requests",
    API_SCHEMA,
    *written(),
    identity(),
    required_string("project_id"),
    string("instance_uuid", 36),
    text("instance"),
    text("block_device_mappings"),
    text("tags"),
    UniqueConstraint("instance_uuid", name="uniq_build_requests0instance_uuid"),
)

REQUEST_SPECS = Table(
    "request_specs",
    API_SCHEMA,
    *written(),
    identity(),
    required_string("instance_uuid", 36),
    Column("spec", Text, nullable=False),
    UniqueConstraint("instance_uuid", name="uniq_request_specs0instance_uuid"),
)

FLAVORS = Table(
    "flavors",
    API_SCHEMA,
    *written(),
    required_string("name"),
    identity(),
    Column("memory_mb", Integer, nullable=False),
    Column("vcpus", Integer, nullable=False),
    Column("swap", Integer, nullable=False),
    Column("vcpu_weight", Integer),
    required_string("flavorid"),
    Column("rxtx_factor", Float),
    Column("root_gb", Integer),
    Column("ephemeral_gb", Integer),
    flag("disabled"),
    flag("is_public"),
    text("description"),
    UniqueConstraint("flavorid", name="uniq_flavors0flavorid"),
    UniqueConstraint("name", name="uniq_flavors0name"),
)

FLAVOR_EXTRA_SPECS = Table(
    "flavor_extra_specs",
    API_SCHEMA,
    *written(),
    identity(),
    Column("flavor_id", Integer, ForeignKey("flavors.id"), nullable=False),
    required_string("key"),
    string("value"),
    UniqueConstraint("flavor_id", "key", name="uniq_flavor_extra_specs0flavor_id0key"),
)

AGGREGATES = Table(
    "aggregates",
    API_SCHEMA,
    *written(),
    identity(),
    string("uuid", 36),
    string("name"),
    UniqueConstraint("name", name="uniq_aggregate0name"),
)

AGGREGATE_HOSTS = Table(
    "aggregate_hosts",
    API_SCHEMA,
    *written(),
    identity(),
    string("host"),
    Column("aggregate_id", Integer, ForeignKey("aggregates.id"), nullable=False),
    UniqueConstraint("host", "aggregate_id", name="uniq_aggregate_hosts0host0aggregate_id"),
)

AGGREGATE_METADATA = Table(
    "aggregate_metadata",
    API_SCHEMA,
    *written(),
    identity(),
    Column("aggregate_id", Integer, ForeignKey("aggregates.id"), nullable=False),
    required_string("key"),
    required_string("value"),
    UniqueConstraint("aggregate_id", "key", name="uniq_aggregate_metadata0aggregate_id0key"),
)

QUOTAS = Table(
    "quotas",
    API_SCHEMA,
    *written(),
    identity(),
    string("project_id"),
    required_string("resource"),
    Column("hard_limit", Integer),
    UniqueConstraint("project_id", "resource", name="uniq_quotas0project_id0resource"),
)

QUOTA_CLASSES = Table(
    "quota_classes",
    API_SCHEMA,
    *written(),
    identity(),
    string("class_name"),
    string("resource"),
    Column("hard_limit", Integer),
)

INSTANCE_GROUPS = Table(
    "instance_groups",
    API_SCHEMA,
    *written(),
    identity(),
    string("user_id"),
    string("project_id"),
    required_string("uuid", 36),
    string("name"),
)

INSTANCE_GROUP_MEMBER = Table(
    "instance_group_member",
    API_SCHEMA,
    *written(),
    identity(),
    string("instance_uuid"),
    Column("group_id", Integer, ForeignKey("instance_groups.id"), nullable=False),
)

INSTANCE_GROUP_POLICY = Table(
    "instance_group_policy",
    API_SCHEMA,
    *written(),
    identity(),
    string("policy"),
    Column("group_id", Integer, ForeignKey("instance_groups.id"), nullable=False),
    text("rules"),
)
