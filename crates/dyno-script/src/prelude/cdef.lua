-- The C names that scripts may use without declaring them. The first part is sysbench's (scripts
-- may repeat it), the second is Dyno's and not for scripts.
local ffi = require("ffi")

ffi.cdef [[
typedef enum {
  SB_CNT_OTHER, SB_CNT_READ, SB_CNT_WRITE, SB_CNT_TRX, SB_CNT_ERROR, SB_CNT_RECONNECT,
  SB_CNT_BYTES_READ, SB_CNT_BYTES_WRITTEN, SB_CNT_MAX
} sb_counter_type;
typedef enum {
  SB_ARG_TYPE_NULL, SB_ARG_TYPE_BOOL, SB_ARG_TYPE_INT, SB_ARG_TYPE_SIZE, SB_ARG_TYPE_DOUBLE,
  SB_ARG_TYPE_STRING, SB_ARG_TYPE_LIST, SB_ARG_TYPE_FILE, SB_ARG_TYPE_MAX
} sb_arg_type_t;
typedef enum {
  SQL_TYPE_NONE, SQL_TYPE_TINYINT, SQL_TYPE_SMALLINT, SQL_TYPE_INT, SQL_TYPE_BIGINT,
  SQL_TYPE_FLOAT, SQL_TYPE_DOUBLE, SQL_TYPE_TIME, SQL_TYPE_DATE, SQL_TYPE_DATETIME,
  SQL_TYPE_TIMESTAMP, SQL_TYPE_CHAR, SQL_TYPE_VARCHAR
} sql_bind_type_t;
typedef enum { DB_ERROR_NONE, DB_ERROR_IGNORABLE, DB_ERROR_FATAL } sql_error_t;
typedef struct dyno_driver sql_driver;
typedef struct { uint32_t len; const char *ptr; } sql_value;
typedef struct { void *ptr; sql_value *values; } sql_row;
typedef struct dyno_connection sql_connection;
typedef struct dyno_statement sql_statement;
typedef struct dyno_no_result { int unused; } sql_result;
typedef struct dyno_bind sql_bind;
typedef struct dyno_arg sb_arg_t;
typedef struct dyno_histogram sb_histogram_t;

bool sb_more_events(int thread_id);
void sb_event_start(int thread_id);
void sb_event_stop(int thread_id);
void sb_counter_inc(int thread_id, sb_counter_type type);
void sb_counter_add(int thread_id, sb_counter_type type, uint64_t value);
uint64_t sb_counter_val(int thread_id, sb_counter_type type);

uint64_t sb_rand_uniform_uint64(void);
double sb_rand_uniform_double(void);
uint32_t sb_rand_default(uint32_t, uint32_t);
uint32_t sb_rand_uniform(uint32_t, uint32_t);
uint32_t sb_rand_gaussian(uint32_t, uint32_t);
uint32_t sb_rand_special(uint32_t, uint32_t);
uint32_t sb_rand_pareto(uint32_t, uint32_t);
uint32_t sb_rand_zipfian(uint32_t, uint32_t);
uint32_t sb_rand_unique(void);
double dyno_rand_wide(uint32_t kind, double, double);
uint32_t dyno_rand_unique_within(uint32_t, uint32_t);
void sb_rand_str(const char *format, char *buffer);
uint32_t sb_rand_varstr(char *buffer, uint32_t min_len, uint32_t max_len);

sb_histogram_t *sb_histogram_new(size_t size, double range_min, double range_max);
void sb_histogram_update(sb_histogram_t *histogram, double value);
void sb_histogram_print(sb_histogram_t *histogram);
void sb_histogram_delete(sb_histogram_t *histogram);
]]

ffi.cdef [[
typedef struct {
  uint32_t kind;
  uint32_t is_null;
  int64_t int_value;
  double double_value;
} dyno_param;

int dyno_turn(int flags);
int dyno_sleep(double seconds);
double dyno_reconnect_delay(double failed);
double dyno_now(void);
void dyno_operation_start(int operation);
void dyno_operation_retry(void);
void dyno_operation_stop(int end);
void dyno_event_again(void);
int dyno_think(double seconds);
bool dyno_thought(void);
void dyno_ledger_add(int sum, double amount);
bool dyno_ledger_is_open(void);

typedef struct dyno_stream dyno_stream;
typedef struct dyno_zipf dyno_zipf;
dyno_stream *dyno_stream_new(const char *key, size_t len);
void dyno_stream_free(dyno_stream *stream);
double dyno_stream_uniform(dyno_stream *stream, double low, double high);
double dyno_stream_real(dyno_stream *stream);
double dyno_stream_normal(dyno_stream *stream);
double dyno_stream_exponential(dyno_stream *stream, double mean);
double dyno_stream_gaussian(dyno_stream *stream, double low, double high, double parameter);
void dyno_stream_text(dyno_stream *stream, char *buffer, size_t len, double compressible);
void dyno_stream_pattern(dyno_stream *stream, const char *pattern, char *buffer, size_t len);
dyno_zipf *dyno_zipf_new(double ranks, double exponent);
void dyno_zipf_free(dyno_zipf *zipf);
double dyno_zipf_draw(const dyno_zipf *zipf, dyno_stream *stream);
void dyno_rows_int(double value);
void dyno_rows_cents(double value);
void dyno_rows_text(const char *text, size_t len);
void dyno_rows_random(dyno_stream *stream, uint32_t shortest, uint32_t longest,
  double compressible);
void dyno_rows_null(void);
double dyno_rows_end(void);
double dyno_permute(double index, double size, double key);
uint32_t dyno_random_below(uint32_t n);

int dyno_connect(void);
int dyno_connection_id(void);
int dyno_query(uint32_t connection, const char *sql, size_t len);
int dyno_begin(uint32_t connection, bool read_only);
int dyno_commit(uint32_t connection);
int dyno_rollback(uint32_t connection);
int dyno_recover(uint32_t connection);
int dyno_prepare(uint32_t connection, const char *sql, size_t len, const uint32_t *kinds, size_t n);
int dyno_next_result(uint32_t connection);
void dyno_keep_names(uint32_t connection);
const char *dyno_column_name(uint32_t connection, uint32_t result, uint32_t column, size_t *len);
int dyno_start_pipeline(uint32_t connection);
int dyno_end_pipeline(uint32_t connection);
void dyno_drop_pipeline(uint32_t connection);
void dyno_disconnect(uint32_t connection);
int dyno_more_results(uint32_t connection);
double dyno_result_rows(uint32_t connection);
double dyno_result_columns(uint32_t connection);
double dyno_affected(uint32_t connection);
int dyno_next_row(uint32_t connection);
const char *dyno_field(uint32_t index, size_t *len);
struct dyno_cell { const char *text; uint32_t len; };
int dyno_first_row(uint32_t connection, struct dyno_cell *cells, uint32_t room);
void dyno_free_result(uint32_t connection);

int dyno_error_number(void);
const char *dyno_error_state(void);
const char *dyno_error_message(size_t *len);
int dyno_error_lost(void);
const char *dyno_error_kind(size_t *length);

struct dyno_statement *dyno_statement_new(uint32_t connection);
void dyno_statement_free(struct dyno_statement *statement);
double dyno_statement_dropped(uint32_t connection);
int dyno_statement_close_dropped(uint32_t connection, uint32_t statement);
bool dyno_statements_crowd(void);
void dyno_statements_collected(void);
void dyno_statement_bind(struct dyno_statement *statement, dyno_param **params, size_t n);
int dyno_execute(uintptr_t statement);
int dyno_statement_close(struct dyno_statement *statement);

dyno_param *dyno_param_new(uint32_t kind, size_t capacity);
void dyno_param_free(dyno_param *param);
void dyno_param_set_bytes(dyno_param *param, const char *bytes, size_t len);
void dyno_param_rand_str(dyno_param *param, const char *format, size_t len);
const char *dyno_param_bytes(dyno_param *param, size_t *len);

double dyno_shared_add(int64_t *number, double amount);
void dyno_shared_set(int64_t *number, double value);

int dyno_system(const char *command, size_t len);

int dyno_bulk_begin(const char *prefix, size_t len);
int dyno_bulk_add(const char *row, size_t len);
int dyno_bulk_flush(uint32_t connection);
int dyno_bulk_load(uint32_t connection);
]]

return ffi
