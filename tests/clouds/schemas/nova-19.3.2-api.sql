-- nova 19.3.2, api_db sync on SQLite: the tables that are read
CREATE TABLE cell_mappings (
	created_at DATETIME,
	updated_at DATETIME,
	id INTEGER NOT NULL,
	uuid VARCHAR(36) NOT NULL,
	name VARCHAR(255),
	transport_url TEXT,
	database_connection TEXT, disabled BOOLEAN,
	PRIMARY KEY (id),
	CONSTRAINT uniq_cell_mappings0uuid UNIQUE (uuid)
);
CREATE TABLE build_requests (
	created_at DATETIME,
	updated_at DATETIME,
	id INTEGER NOT NULL,
	request_spec_id INTEGER,
	project_id VARCHAR(255) NOT NULL,
	user_id VARCHAR(255),
	display_name VARCHAR(255),
	instance_metadata TEXT,
	progress INTEGER,
	vm_state VARCHAR(255),
	task_state VARCHAR(255),
	image_ref VARCHAR(255),
	access_ip_v4 VARCHAR(39),
	access_ip_v6 VARCHAR(39),
	info_cache TEXT,
	security_groups TEXT,
	config_drive BOOLEAN,
	key_name VARCHAR(255),
	locked_by VARCHAR(5),
	instance_uuid VARCHAR(36),
	instance TEXT,
	block_device_mappings TEXT, tags TEXT,
	PRIMARY KEY (id),
	CHECK (config_drive IN (0, 1)),
	CONSTRAINT uniq_build_requests0instance_uuid UNIQUE (instance_uuid),
	CHECK (config_drive IN (0, 1)),
	CHECK (config_drive IN (0, 1)),
	CONSTRAINT build_requests0locked_by CHECK (locked_by IN ('owner', 'admin'))
);
CREATE TABLE host_mappings (
	created_at DATETIME,
	updated_at DATETIME,
	id INTEGER NOT NULL,
	cell_id INTEGER NOT NULL,
	host VARCHAR(255) NOT NULL,
	PRIMARY KEY (id),
	CONSTRAINT uniq_host_mappings0host UNIQUE (host),
	FOREIGN KEY(cell_id) REFERENCES cell_mappings (id)
);
CREATE TABLE instance_mappings (
	created_at DATETIME,
	updated_at DATETIME,
	id INTEGER NOT NULL,
	instance_uuid VARCHAR(36) NOT NULL,
	cell_id INTEGER,
	project_id VARCHAR(255) NOT NULL, queued_for_delete BOOLEAN, user_id VARCHAR(255),
	PRIMARY KEY (id),
	FOREIGN KEY(cell_id) REFERENCES cell_mappings (id),
	CONSTRAINT uniq_instance_mappings0instance_uuid UNIQUE (instance_uuid)
);
CREATE TABLE request_specs (
	created_at DATETIME,
	updated_at DATETIME,
	id INTEGER NOT NULL,
	instance_uuid VARCHAR(36) NOT NULL,
	spec TEXT NOT NULL,
	PRIMARY KEY (id),
	CONSTRAINT uniq_request_specs0instance_uuid UNIQUE (instance_uuid)
);
CREATE TABLE aggregates (
	created_at DATETIME,
	updated_at DATETIME,
	id INTEGER NOT NULL,
	uuid VARCHAR(36),
	name VARCHAR(255),
	PRIMARY KEY (id),
	CONSTRAINT uniq_aggregate0name UNIQUE (name)
);
CREATE TABLE aggregate_hosts (
	created_at DATETIME,
	updated_at DATETIME,
	id INTEGER NOT NULL,
	host VARCHAR(255),
	aggregate_id INTEGER NOT NULL,
	PRIMARY KEY (id),
	CONSTRAINT uniq_aggregate_hosts0host0aggregate_id UNIQUE (host, aggregate_id),
	FOREIGN KEY(aggregate_id) REFERENCES aggregates (id)
);
CREATE TABLE aggregate_metadata (
	created_at DATETIME,
	updated_at DATETIME,
	id INTEGER NOT NULL,
	aggregate_id INTEGER NOT NULL,
	"key" VARCHAR(255) NOT NULL,
	value VARCHAR(255) NOT NULL,
	PRIMARY KEY (id),
	CONSTRAINT uniq_aggregate_metadata0aggregate_id0key UNIQUE (aggregate_id, "key"),
	FOREIGN KEY(aggregate_id) REFERENCES aggregates (id)
);
