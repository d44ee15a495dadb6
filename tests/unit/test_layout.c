#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "run_suite.h"

#define ID "f47ac10b-58cc-4372-a567-0e02b2c3d479"

static const struct qo_layout plain = { "", 1 };
static const struct qo_layout wide = { "team/a/", 2 };

START_TEST(test_minute)
{
	/* 2026-01-28T12:00:00Z */
	ck_assert_int_eq(qo_minute((struct qo_wall){
			     INT64_C(1769601600000000) }),
	    29493360);
	ck_assert_int_eq(qo_minute((struct qo_wall){
			     INT64_C(1769601599999999) }),
	    29493359);
	ck_assert_int_eq(qo_minute((struct qo_wall){ -1 }), 0);
	ck_assert_int_eq(qo_minute((struct qo_wall){ INT64_MIN }), 0);
	ck_assert_int_le(qo_minute((struct qo_wall){ INT64_MAX }),
	    INT64_C(9999999999));
}
END_TEST

START_TEST(test_keys)
{
	char k[QO_KEY_SIZE];
	const char *sha = "0123456789abcdef0123456789abcdef"
			  "0123456789abcdef0123456789abcdef";

#define KEY(call, want)                    \
	do {                               \
		ck_assert_int_eq(call, 0); \
		ck_assert_str_eq(k, want); \
	} while (0)

	KEY(qo_key_task(&plain, ID, k), "tasks/f/" ID ".json");
	KEY(qo_key_task(&wide, ID, k), "team/a/tasks/f4/" ID ".json");
	KEY(qo_key_worker(&plain, "host-1.2", k), "workers/host-1.2.json");
	KEY(qo_key_bell(&plain, "host-1.2", ID, k), "bell/host-1.2/" ID);
	KEY(qo_key_schedule(&plain, "nightly", k), "schedules/nightly.json");
	KEY(qo_key_control(&wide, k), "team/a/control/queue.json");
	KEY(qo_key_input(&plain, ID, sha, k),
	    "payloads/" ID "/input.0123456789abcdef.json");
	KEY(qo_key_output(&plain, ID, 3, k), "payloads/" ID "/3.output.json");
	KEY(qo_key_log(&wide, ID, 3, k), "team/a/logs/f4/" ID "/3.log");
	KEY(qo_key_index(&plain, QO_INDEX_READY, NULL, k), "ready/");
	KEY(qo_key_index(&plain, QO_INDEX_READY_LOW, "7", k), "ready_low/7/");
	KEY(qo_key_index(&wide, QO_INDEX_LEASES, "0c", k), "team/a/leases/0c/");
}
END_TEST

START_TEST(test_refused_parts)
{
	char k[QO_KEY_SIZE] = "x", prefix[2000];
	struct qo_layout l = { prefix, 1 };

	ck_assert_int_eq(qo_key_task(&plain, "../../etc/passwd", k), -1);
	ck_assert_str_eq(k, "");
	ck_assert_int_eq(qo_key_worker(&plain, "..", k), -1);
	ck_assert_int_eq(qo_key_worker(&plain, "a/b", k), -1);
	ck_assert_int_eq(qo_key_bell(&plain, "a", "", k), -1);
	ck_assert_int_eq(qo_key_schedule(&plain, "", k), -1);
	ck_assert_int_eq(qo_key_input(&plain, ID, "0123", k), -1);
	ck_assert_int_eq(qo_key_output(&plain, ID, -1, k), -1);
	ck_assert_int_eq(qo_key_index(&plain, QO_INDEX_READY, "f4", k), -1);
	ck_assert_int_eq(qo_key_index(&plain, QO_INDEX_READY, "/", k), -1);
	memset(prefix, 'p', sizeof(prefix));
	prefix[sizeof(prefix) - 1] = '\0';
	ck_assert_int_eq(qo_key_control(&l, k), -1);
	prefix[1024] = '\0';
	ck_assert_int_eq(qo_key_control(&l, k), -1);
	prefix[1024 - strlen("control/queue.json") + 1] = '\0';
	ck_assert_int_eq(qo_key_control(&l, k), -1);
	prefix[1024 - strlen("control/queue.json")] = '\0';
	ck_assert_int_eq(qo_key_control(&l, k), 0);
	ck_assert_uint_eq(strlen(k), 1024);
}
END_TEST

START_TEST(test_entry_round_trip)
{
	const struct qo_layout *l = _i % 2 == 0 ? &plain : &wide;
	struct qo_entry e, back;
	char k[QO_KEY_SIZE];

	qo_entry_make(&e, (enum qo_index)(_i / 2),
	    (struct qo_wall){ INT64_C(1769601600000000) }, ID,
	    _i == 3 ? QO_COUNT_MAX : 1 + _i);
	ck_assert_int_eq(qo_key_entry(l, &e, k), 0);
	ck_assert_int_eq(qo_entry_parse(l, k, strlen(k), &back), 0);
	ck_assert_int_eq(back.index, e.index);
	ck_assert_int_eq(back.minute, 29493360);
	ck_assert_str_eq(back.id, ID);
	ck_assert_int_eq(back.generation, e.generation);
	ck_assert_str_eq(back.nonce, e.nonce);
	ck_assert_ptr_nonnull(strstr(k, "/0029493360/" ID "."));
}
END_TEST

START_TEST(test_entry_forms)
{
	struct qo_entry e = { QO_INDEX_READY, 29493360, ID, 1, "" };
	char k[QO_KEY_SIZE];
	const char *s;

	ck_assert_int_eq(qo_key_entry(&plain, &e, k), 0);
	ck_assert_str_eq(k, "ready/f/0029493360/" ID);
	ck_assert_int_eq(qo_entry_parse(&plain, k, strlen(k), &e), 0);
	ck_assert_int_eq(e.generation, QO_GENERATION_FIRST);
	ck_assert_str_eq(e.nonce, "");
	/* Only the first generation has the bare form. */
	e.generation = 2;
	ck_assert_int_eq(qo_key_entry(&plain, &e, k), -1);

	s = "ready-high/f/0029493360/" ID ".12.00ff00ff";
	ck_assert_int_eq(qo_entry_parse(&plain, s, strlen(s), &e), 0);
	ck_assert_int_eq(e.index, QO_INDEX_READY_HIGH);
	ck_assert_int_eq(e.generation, 12);
	ck_assert_str_eq(e.nonce, "00ff00ff");
	ck_assert_int_eq(qo_key_entry(&plain, &e, k), 0);
	ck_assert_str_eq(k, s);
}
END_TEST

/* One LIST of "ready" must see the priorities in this order. */
START_TEST(test_order_of_priorities)
{
	char a[QO_KEY_SIZE], b[QO_KEY_SIZE], c[QO_KEY_SIZE];

	qo_key_index(&plain, QO_INDEX_READY_HIGH, NULL, a);
	qo_key_index(&plain, QO_INDEX_READY, NULL, b);
	qo_key_index(&plain, QO_INDEX_READY_LOW, NULL, c);
	ck_assert_int_lt(strcmp(a, b), 0);
	ck_assert_int_lt(strcmp(b, c), 0);
}
END_TEST

static const char *const bad_entries[] = {
	"",
	"ready/",
	"ready/f",
	"ready/f/0029493360/",
	"ready/f/0029493360",
	"ready/f/29493360/" ID,
	"ready/f/00029493360/" ID,
	"ready/f/002949336x/" ID,
	"ready/e/0029493360/" ID,
	"ready/f4/0029493360/" ID,
	"Ready/f/0029493360/" ID,
	"ready_high/f/0029493360/" ID,
	"tasks/f/" ID ".json",
	"x/ready/f/0029493360/" ID,
	"ready/f/0029493360/" ID ".",
	"ready/f/0029493360/" ID ".1",
	"ready/f/0029493360/" ID ".1.",
	"ready/f/0029493360/" ID ".1.00ff00f",
	"ready/f/0029493360/" ID ".1.00ff00ff0",
	"ready/f/0029493360/" ID ".1.00FF00FF",
	"ready/f/0029493360/" ID ".01.00ff00ff",
	"ready/f/0029493360/" ID ".-1.00ff00ff",
	"ready/f/0029493360/" ID ".9007199254740992.00ff00ff",
	"ready/f/0029493360/" ID ".99999999999999999999.00ff00ff",
	"ready/f/0029493360/" ID "/1.00ff00ff",
	"ready/f/0029493360/F47ac10b-58cc-4372-a567-0e02b2c3d479",
};

START_TEST(test_bad_entries)
{
	struct qo_entry e;

	ck_assert_msg(qo_entry_parse(&plain, bad_entries[_i],
			  strlen(bad_entries[_i]), &e) == -1,
	    "%s", bad_entries[_i]);
}
END_TEST

START_TEST(test_names)
{
	char name[400];

	memset(name, 'a', sizeof(name));
	ck_assert(qo_name_valid("a", 1));
	ck_assert(qo_name_valid("A-z_0.9", 7));
	ck_assert(qo_name_valid("...", 3));
	ck_assert(qo_name_valid(name, 128));
	ck_assert(!qo_name_valid(name, 129));
	ck_assert(!qo_name_valid("", 0));
	ck_assert(!qo_name_valid(".", 1));
	ck_assert(!qo_name_valid("..", 2));
	ck_assert(!qo_name_valid("a b", 3));
	ck_assert(!qo_name_valid("a/b", 3));
	ck_assert(!qo_name_valid("a\0b", 3));
	ck_assert(!qo_name_valid("\xc3\xa4", 2));
	ck_assert(qo_type_valid("email.send:v2/eu-1", 18));
	ck_assert(qo_type_valid("workflow.step:a:b", 17));
	ck_assert(qo_type_valid(name, 128));
	ck_assert(!qo_type_valid(name, 129));
	ck_assert(!qo_type_valid("", 0));
	ck_assert(!qo_type_valid("a b", 3));
	memcpy(name, "workflow.", 9);
	ck_assert(qo_type_valid(name, 300));
	ck_assert(!qo_type_valid(name, 301));
	ck_assert(qo_type_valid_user("workflow", 8));
	ck_assert(!qo_type_valid_user("workflow.x", 10));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("layout");
	TCase *tc = tcase_create("layout");

	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, test_minute);
	tcase_add_test(tc, test_keys);
	tcase_add_test(tc, test_refused_parts);
	tcase_add_loop_test(tc, test_entry_round_trip, 0, 10);
	tcase_add_test(tc, test_entry_forms);
	tcase_add_test(tc, test_order_of_priorities);
	tcase_add_loop_test(tc, test_bad_entries, 0,
	    (int)(sizeof(bad_entries) / sizeof(bad_entries[0])));
	tcase_add_test(tc, test_names);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
