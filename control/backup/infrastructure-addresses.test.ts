/** A restored setting may name no address of the operator's infrastructure that is always blocked. */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Backup } from "../../shared/schema/backup.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl({
    resolve: async (host) => (host === "metadata.example" ? ["169.254.169.254"] : ["10.1.1.1"]),
  });
  for (const [name, body] of [
    ["alerts", { email: { smtp_host: "mail.example", from_address: "a@b.example", recipients: ["c@d.example"] } }],
    ["energy", { prometheus_url: "http://metrics.example" }],
    ["jobsched", { url: "http://scheduler.example:6820" }],
  ] as const)
    expect((await control.request("PUT", `/api/v1/settings/${name}`, body)).status).toBe(200);
});
afterAll(async () => {
  await control.close();
});

const exported = async (): Promise<Backup> =>
  (await (await control.request("GET", "/api/v1/backup/export")).json()) as Backup;

it.each([
  ["alerts", "email.smtp_host", "metadata.example"],
  ["energy", "prometheus_url", "http://metadata.example:9090"],
  ["jobsched", "url", "http://[fe80::1]:6820"],
])("refuses %s with %s at %s, by naming the setting, and writes nothing", async (key, field, address) => {
  const before = await exported();
  const text = JSON.stringify(before);
  const file = JSON.parse(text) as Backup;
  const at = file.data.app_settings.findIndex((row) => row.key === key);
  const names = field.split(".");
  const holder = names
    .slice(0, -1)
    .reduce((inner, name) => inner[name] as Record<string, unknown>, file.data.app_settings[at]?.value ?? {});
  holder[names.at(-1) ?? ""] = address;
  const response = await control.request("POST", "/api/v1/backup/restore", file);
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 400,
    body: {
      error: {
        code: "address_blocked",
        message: `setting '${key}': ${field} resolves to a blocked address`,
        param: `data.app_settings.${at}.value.${field}`,
      },
    },
  });
  expect((await exported()).data).toEqual(before.data);
});

it("takes the settings as they are", async () => {
  expect((await control.request("POST", "/api/v1/backup/restore", await exported())).status).toBe(200);
});
