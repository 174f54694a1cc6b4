import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EVENT_MEANINGS, EVENTS_OF_PARTS } from "./event-meanings.ts";
import { stackOutput } from "./stack-output.ts";

const AT = Date.UTC(2026, 0, 2, 3, 4, 5);
const people = stackOutput(true, () => AT);
const json = stackOutput(false, () => AT);
const clock = new Date(AT).toTimeString().slice(0, 8);
const time = new Date(AT).toISOString();

const stack = {
  proxyUrl: "http://127.0.0.1:1",
  adminUrl: "http://127.0.0.1:2",
  metricsUrl: "http://127.0.0.1:3",
  adminToken: "secret",
  adminTokenMade: true,
  dashboard: { url: "http://127.0.0.1:4", email: "a@b.example", password: "pass-word", passwordMade: true },
  demo: { apiKey: "sk_demo", model: "demo", made: true },
};
const paths = { adminToken: ".data/admin-token", consolePassword: ".data/console-password", demoKey: ".data/demo-key" };

describe("on a terminal", () => {
  it("an event is its part, its name, what it means and its facts", () => {
    const line = JSON.stringify({
      level: 40,
      time,
      event: "publish_failed",
      reason: "ECONNREFUSED",
      rows: 2,
      model: null,
    });
    expect(people.part("control", line)).toEqual([
      `${clock}  control     warning: publish_failed: ${EVENT_MEANINGS["publish_failed"]} (reason=ECONNREFUSED, rows=2)`,
    ]);
  });

  it("a request is one short line", () => {
    const line = { level: 30, time, event: "request", msg: "POST chat 200", tenant_id: "t", model: "m", total_ms: 9 };
    expect(people.part("workerd", JSON.stringify(line))).toEqual([
      `${clock}  workerd     request: POST chat 200 (model=m, total_ms=9)`,
    ]);
  });

  it("a crash has its reason, and an event whose name is not known says no more than it knows", () => {
    const crash = { level: 50, time, event: "request", request_id: "r", error: "internal_error", reason: "TypeError" };
    expect(people.part("workerd", JSON.stringify(crash))[0]).toContain("error=internal_error, reason=TypeError");
    const unknown = { level: 30, time, event: "constructor" };
    expect(people.part("workerd", JSON.stringify(unknown))).toEqual([`${clock}  workerd     constructor`]);
  });

  it("any other line is itself, without what a terminal acts upon", () => {
    expect(people.part("stack", "control ended; \u001b[2Jstarting it again")).toEqual([
      `${clock}  stack       control ended; \\u001b[2Jstarting it again`,
    ]);
  });

  it("the banner has the addresses and a command to try", () => {
    const text = people.ready(stack, paths).join("\n");
    for (const part of ["The gateway is ready.", "http://127.0.0.1:1/v1", "secret", "curl -N"])
      expect(text).toContain(part);
    expect(people.stopped()).toEqual(["The gateway has stopped."]);
  });
});

describe("elsewhere", () => {
  const parsed = (lines: readonly string[]): unknown[] => lines.map((line) => JSON.parse(line));

  it("a part cannot give itself the name of another", () => {
    expect(parsed(json.part("workerd", JSON.stringify({ part: "control", event: "x" })))).toEqual([
      { level: 30, time, part: "workerd", event: "x" },
    ]);
  });

  it("an event is the part's own object with its part", () => {
    expect(parsed(json.part("control", '{"level":30,"event":"migrated","applied":[]}'))).toEqual([
      { part: "control", level: 30, time, event: "migrated", applied: [] },
    ]);
  });

  it.each([
    [30, 'a "line"', 'a "line"'],
    [30, "{broken", "{broken"],
    [
      50,
      "workerd/io/worker.c++:2412: error: uncaught exception",
      "workerd/io/worker.c++:2412: error: uncaught exception",
    ],
    [40, "kj/async.c++:9: warning: Bearer abcdefghijk", "kj/async.c++:9: warning: [redacted]"],
  ])("any other line is the message of an event with a level (%i) and a time", (level, line, message) => {
    expect(parsed(json.part("workerd", line))).toEqual([{ level, time, event: "output", message, part: "workerd" }]);
  });

  it("the banner is one object, and so is the end", () => {
    expect(parsed(json.ready(stack, paths))).toEqual([
      {
        part: "stack",
        level: 30,
        time,
        event: "ready",
        message: "The gateway is ready.",
        data_plane: "http://127.0.0.1:1/v1",
        management_api: "http://127.0.0.1:2/api/v1",
        metrics: "http://127.0.0.1:3/metrics",
        admin_token: "secret",
        admin_token_in: ".data/admin-token",
        console: "http://127.0.0.1:4",
        console_email: "a@b.example",
        console_password: "pass-word",
        console_password_in: ".data/console-password",
        demo_key: "sk_demo",
        demo_key_in: ".data/demo-key",
        try: expect.stringContaining("curl -N http://127.0.0.1:1/v1/chat/completions"),
      },
    ]);
    const later = {
      ...stack,
      adminTokenMade: false,
      dashboard: { ...stack.dashboard, passwordMade: false },
      demo: null,
    };
    expect(parsed(json.ready(later, paths))).toMatchObject([
      { admin_token: null, admin_token_in: ".data/admin-token", console_password: null },
    ]);
    const [without] = parsed(json.ready({ ...later, dashboard: null }, paths)) as [object];
    expect(Object.keys(without).filter((name) => name.startsWith("console"))).toEqual([]);
    expect(parsed(json.stopped())).toMatchObject([{ event: "stopped", message: "The gateway has stopped." }]);
  });
});

it("every event that a plane or the launcher logs has a meaning under its part, and no other", () => {
  const root = join(import.meta.dirname, "../..");
  const logged = (room: string, pattern: RegExp): readonly string[] =>
    globSync(`${room}/**/*.ts`, { cwd: root })
      .filter((file) => !/\.test\.ts$|\/testing\//.test(file))
      .flatMap((file) => [...readFileSync(join(root, file), "utf8").matchAll(pattern)].map((match) => match[1] ?? ""));
  const worker = new Set(logged("edge", /\.event\(\s*"(\w+)"/g));
  // the variables that the launcher itself reads
  const isOthers = (name: string): boolean => worker.has(name) || name === "listening";
  const control = new Set(logged("control", /[{\s]\s*event: "(\w+)"/g).filter((name) => !isOthers(name)));
  const launcher = new Set([
    ...logged("infra/local/tls", /"(tls_\w+)"/g),
    ...logged("infra/local/process", /event: "(start_\w+)"/g),
  ]);
  const told = Object.values(EVENTS_OF_PARTS).map((events) => Object.keys(events).toSorted());
  expect(told).toEqual([worker, control, launcher].map((names) => [...names].toSorted()));
});
