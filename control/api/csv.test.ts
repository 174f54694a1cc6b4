/**
 * Lists as CSV, over HTTP, against the real engine (docs/rules/management-api.md#csv).
 *
 * @module-tag check
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import type { UsageLog } from "../../shared/schema/usage.ts";
import type { DailyUsage } from "../../shared/schema/usage-reads.ts";
import { csvLine } from "../../shared/text/csv.ts";
import { dayStartMs } from "../../shared/time/zone-days.ts";
import { NIL_UUID, usageRowSchema } from "../../shared/usage/usage-row.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { ledgerRow, TestLedger } from "../../test/harness/ledger.ts";
import { mainRows } from "../../test/harness/main-rows.ts";
import { users } from "../db/schema/users.ts";
import { csvLines } from "../kernel/csv.ts";
import { listPages } from "./csv-answer.ts";

const ledger = new TestLedger();
ledger.use();
let control: TestControl;
const NOW = Date.now();

beforeAll(async () => {
  control = await startControl({ analytics: ledger.store });
});
afterAll(async () => {
  await control.close();
});

const get = async (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  await control.request("GET", `/api/v1${path}`, undefined, headers);

/** The rows of an answer by the names of its columns; the cells of these tests have no quotes or line ends. */
async function rowsOf(response: Response): Promise<readonly Readonly<Record<string, string>>[]> {
  expect({ status: response.status, "content-type": response.headers.get("content-type") }).toEqual({
    status: 200,
    "content-type": "text/csv; charset=utf-8",
  });
  const [head = "", ...lines] = (await response.text()).split("\r\n");
  expect(lines.pop()).toBe("");
  const names = head.split(",");
  return lines.map((line) => {
    const cells = line.split(",");
    expect(cells).toHaveLength(names.length);
    return Object.fromEntries(names.map((name, at) => [name, cells[at] ?? ""]));
  });
}
/** The sums of these columns, of JSON and CSV alike. */
const sumsOf = (rows: readonly object[], names: readonly string[]): Readonly<Record<string, number>> =>
  Object.fromEntries(
    names.map((name) => [
      name,
      rows.reduce((sum, row) => sum + Number(Object.entries(row).find(([key]) => key === name)?.[1]), 0),
    ]),
  );
/** A row of JSON as its cells are written. */
const written = (row: object): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, value === null || value === NIL_UUID ? "" : String(value)]),
  );

describe("a list as CSV", () => {
  it("has the rows and figures of its JSON, by the header and by the query", async () => {
    await ledger.insert(
      Array.from({ length: 30 }, (_, at) =>
        ledgerRow(NOW - 1000 - at * 3_600_000, {
          cost_usd: at / 7,
          total_tokens: at,
          model: `m${at % 3}`,
          error_code: at % 2 === 0 ? "" : "client_gone",
          status_code: at % 2 === 0 ? 200 : 499,
        }),
      ),
    );
    for (const path of [
      "/usage/logs?limit=7",
      "/usage/logs?error_code=client_gone&since_ms=0",
      "/usage/daily?timezone=Asia/Kolkata",
      "/usage/daily?group_by=model",
      "/usage/breakdown",
      "/usage/breakdown?timezone=Pacific/Chatham&limit=2",
    ]) {
      const json = (await (await get(path)).json()) as readonly object[];
      expect({ path, hasRows: json.length > 0 }).toEqual({ path, hasRows: true });
      const csv = json.map(written);
      expect(await rowsOf(await get(path, { accept: "text/csv" }))).toEqual(csv);
      expect(await rowsOf(await get(`${path}&format=csv`.replace("breakdown&", "breakdown?")))).toEqual(csv);
    }
  });

  it("is named after the list and what the query says of its rows", async () => {
    const nameOf = async (query: string) =>
      (await get(`/usage/daily?format=csv&${query}`)).headers.get("content-disposition");
    expect(await nameOf("group_by=tenant&start_day=2026-11-01&end_day=2026-11-28")).toBe(
      'attachment; filename="usage-daily-tenant-2026-11-01-2026-11-28.csv"',
    );
    expect(await nameOf("model=team/phi%224")).toBe('attachment; filename="usage-daily-team_phi_4.csv"');
  });

  mainRows(1)(["America/Los_Angeles", "UTC", "Asia/Kolkata"])(
    "has the sums that are told of the log, over the days of %s on which clocks change",
    async (zone) => {
      const days = ["2026-10-31", "2026-11-02"] as const;
      const [fromMs, endMs] = [dayStartMs(zone, days[0]), dayStartMs(zone, days[1])];
      const inside = [fromMs, endMs - 1, fromMs + 3_600_000, endMs - 3_600_000];
      const outside = [fromMs - 1, endMs];
      await ledger.insert(
        [...inside, ...outside].map((ts, at) =>
          ledgerRow(ts, {
            input_tokens: at,
            total_tokens: 2 * at,
            cost_usd: (at + 1) / 8,
            status_code: at % 2 === 0 ? 200 : 429,
            error_code: at % 2 === 0 ? "" : "queue_full",
          }),
        ),
      );
      const byDay = `/usage/daily?timezone=${zone}&start_day=2026-10-31&end_day=2026-11-01`;
      for (const group of ["day", "tenant", "key", "model"]) {
        const json = (await (await get(`${byDay}&group_by=${group}`)).json()) as readonly DailyUsage[];
        const csv = await rowsOf(await get(`${byDay}&group_by=${group}&format=csv`));
        const expected = { requests: inside.length, total_tokens: 12, cost_usd: 1.25 };
        for (const rows of [json, csv])
          expect({ group, sums: sumsOf(rows, Object.keys(expected)) }).toEqual({ group, sums: expected });
      }
      for (const filter of ["", "&status=error", "&error_code=queue_full", "&error_code=none"]) {
        const query = `since_ms=${fromMs}&until_ms=${endMs - 1}${filter}`;
        const csv = await rowsOf(await get(`/usage/logs?${query}&format=csv`));
        const sum = (name: string): number => csv.reduce((total, row) => total + Number(row[name]), 0);
        expect({ filter, rowCount: csv.length }).toEqual({
          filter,
          rowCount: filter === "" ? 4 : filter === "&error_code=none" ? 0 : 2,
        });
        expect(await (await get(`/usage/logs/totals?${query}`)).json()).toEqual({
          requests: csv.length,
          errors: csv.filter((row) => Number(row["status_code"]) >= 400).length,
          refused_requests: csv.filter((row) => row["status_code"] === "429").length,
          failed_requests: 0,
          left_requests: 0,
          input_tokens: sum("input_tokens"),
          output_tokens: sum("output_tokens"),
          total_tokens: sum("total_tokens"),
          cost_usd: sum("cost_usd"),
        });
      }
    },
  );

  it("has every row of the log, page by page, each once", async () => {
    const rows = Array.from({ length: 450 }, (_, at) => ledgerRow(NOW - 1000 - (at % 9), { total_tokens: at }));
    await ledger.insert(rows);
    const csv = await rowsOf(await get("/usage/logs?format=csv"));
    const ids = csv.map((row) => row["request_id"]);
    expect([...ids].sort()).toEqual(rows.map((row) => row.request_id).sort());
    const page = (await (await get("/usage/logs?limit=200")).json()) as readonly UsageLog[];
    expect(ids.slice(0, 200)).toEqual(page.map((row) => row.request_id));
    expect(Object.keys(csv[0] ?? {})).toEqual(expect.arrayContaining(Object.keys(usageRowSchema.shape)));
  });

  it("is read as its caller takes it, and not further", async () => {
    await ledger.insert(Array.from({ length: 450 }, (_, at) => ledgerRow(NOW - 1000 - at)));
    const reader = (await get("/usage/logs?format=csv")).body?.getReader();
    const first = await reader?.read();
    expect(new TextDecoder().decode(first?.value).split("\r\n")).toHaveLength(202);
    await reader?.cancel();
  });

  it("without rows has its columns", async () => {
    for (const path of ["/usage/logs", "/usage/daily", "/usage/breakdown", "/usage/health", "/costs/daily"])
      expect((await (await get(path, { accept: "text/csv" })).text()).split("\r\n")[0]).toContain("tenant_id,");
  });

  it("has all audit entries, or a page of them, and no formula among its cells", async () => {
    for (let at = 0; at < 3; at += 1)
      await control.request(
        "POST",
        "/api/v1/tenants",
        { name: `t${at}` },
        { "x-gateway-audit-actor": '=cmd|" /C calc"!A0' },
      );
    const all = (await (await get("/audit?limit=1000")).json()) as readonly AuditEntry[];
    const text = await (await get("/audit?format=csv")).text();
    expect(text.split("\r\n")).toHaveLength(all.length + 2);
    expect(text).toContain(`,"'=cmd|"" /C calc""!A0",`);
    expect((await (await get("/audit?limit=2", { accept: "text/csv" })).text()).split("\r\n")).toHaveLength(4);
  });

  it("is every paged list, with the fields of its JSON, and no formula among its cells", async () => {
    const at = async <T>(path: string, body: object): Promise<T> =>
      (await (await control.request("POST", `/api/v1${path}`, body)).json()) as T;
    const tenant = await at<{ id: string }>("/tenants", { name: '=HYPERLINK("http://x","y")', contact: "a,b\n@c" });
    await at(`/tenants/${tenant.id}/keys`, { name: "+1" });
    const upstream = { model_type: "chat", upstream_model: "u", api_base: "http://127.0.0.1:9" };
    const model = await at<{ id: string }>("/models", { model_name: "=m", ...upstream });
    await at(`/models/${model.id}/endpoints`, { name: "@e", api_base: "http://127.0.0.1:9/v1" });
    const spec = { partition: "gpu", serving_port: 8000, launch_command: "=serve" };
    await control.request("PUT", `/api/v1/models/${model.id}/managed`, spec);
    await at(`/models/${model.id}/replicas`, { job_id: "4711" });
    await at("/mcp-servers", { name: "-s", upstream_url: "http://127.0.0.1/mcp" });
    const { db } = control.connection;
    await db
      .insert(users)
      .values({ email: "a@b.c", name: "=n", provider: "oidc", subject: "@a", role: "user", status: "pending" });
    for (const path of [
      "/tenants",
      `/tenants/${tenant.id}/keys`,
      "/keys",
      "/models",
      `/models/${model.id}/endpoints`,
      `/models/${model.id}/replicas`,
      "/managed",
      "/replicas",
      "/mcp-servers",
      "/users",
      "/fairshare/groups",
    ]) {
      const rows = (await (await get(path)).json()) as readonly object[];
      const answer = await get(`${path}?format=csv`);
      const text = await answer.text();
      const columns = text.slice(0, text.indexOf("\r\n")).split(",");
      const fields = Object.keys(rows[0] ?? {}).filter((name) => name !== "rev");
      expect({ path, columns: columns.toSorted() }).toEqual({ path, columns: fields.toSorted() });
      expect({ path, text }).toEqual({ path, text: csvLine(columns) + csvLines(columns, rows) });
      expect({ path, hasFormula: /(^|,)[=+@]|(^|,)-(?!\d)/m.test(text.replaceAll(/"([^"]|"")*"/g, "")) }).toEqual({
        path,
        hasFormula: false,
      });
      const file = `attachment; filename="${path.split("/").at(-1)}.csv"`;
      expect(answer.headers.get("content-disposition")).toBe(file);
    }
  });

  it("has every page of a list, unless it names a limit", async () => {
    const asked: unknown[] = [];
    const list = async (query: Readonly<Record<string, string | undefined>>) => {
      asked.push(query);
      return query["cursor"] === "b" ? { rows: [3], next: null } : { rows: [1, 2], next: "b" };
    };
    const pages = async (query: Readonly<Record<string, string>>) => {
      const read: (readonly number[])[] = [];
      for await (const rows of listPages(query, list)) read.push(rows);
      return read;
    };
    expect(await pages({ q: "x" })).toEqual([[1, 2], [3]]);
    expect(asked).toEqual([
      { q: "x", limit: "1000" },
      { q: "x", limit: "1000", cursor: "b" },
    ]);
    expect(await pages({ limit: "2" })).toEqual([[1, 2]]);
  });

  it.each([
    [{}, "application/json"],
    [{ accept: "*/*" }, "application/json"],
    [{ accept: "text/html, text/csv;q=0.5, application/json;q=0.9" }, "application/json"],
    [{ accept: "TEXT/CSV;q=0.9, application/json;q=0.5" }, "text/csv; charset=utf-8"],
  ])("is given to who asks for it: %o", async (headers, type) => {
    const response = await get("/usage/daily", headers as Record<string, string>);
    expect({ "content-type": response.headers.get("content-type"), vary: response.headers.get("vary") }).toEqual({
      "content-type": type,
      vary: "accept",
    });
  });

  it("is refused like its JSON", async () => {
    const refused = await get("/usage/logs?format=xml");
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({
      status: 400,
      body: { error: { details: [{ path: "format" }] } },
    });
    for (const path of [
      "/usage/logs?limit=x",
      "/usage/daily?timezone=x",
      "/usage/breakdown?limit=x",
      "/audit?cursor=x",
    ])
      expect({ path, status: (await get(`${path}&format=csv`)).status }).toEqual({ path, status: 400 });
    const unknown = await get("/usage/logs?format=csv", { authorization: "Bearer wrong" });
    expect(unknown.status).toBe(401);
  });
});
