/** A captured request is read on its page by an admin, and replayed in the playground. */
import { expect, it } from "vitest";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();

it("an admin turns capture on, reads a request on demand and sends it again", async () => {
  const { gateway, upstream } = fixture;
  const minted = await gateway.mint(upstream.url, "chunks=3");
  const { page, problems } = await fixture.open({ as: "admin" });
  await page.goto(`/tenants/${minted.tenant.id}?tab=edit`);
  const end = new Date(Date.now() + 3_600_000).toISOString().slice(0, 16);
  await page.getByLabel("Capture bodies until").fill(end);
  await page.getByRole("button", { name: "Save" }).click();
  await waitFor(
    async () => await gateway.must<{ capture_until: string | null }>("GET", `/tenants/${minted.tenant.id}`),
    ({ capture_until }) => capture_until?.startsWith(end) === true,
  );
  await gateway.confirmed("the change of the tenant");
  const body = { temperature: 0.5, messages: [{ role: "system", content: "Be brief" }, userSays(minted.mark)] };
  const response = await gateway.chat(minted, { body });
  const id = response.headers.get("x-gateway-request-id") ?? "";
  await response.text();
  await gateway.row(minted.tenant.id, id);
  const reads = async () =>
    (await gateway.must<readonly AuditEntry[]>("GET", `/audit?entity_id=${id}`)).map(({ action }) => action);
  await page.goto(`/logs?open=${id}`);
  const show = page.getByRole("button", { name: "Show captured request" });
  await show.waitFor();
  expect(await reads()).toEqual([]);
  await show.click();
  await page.getByText(`"content": "hello ${minted.mark}"`).waitFor();
  expect(await reads()).toEqual(["read_capture"]);
  await page.getByRole("link", { name: "Replay in the playground" }).click();
  await page.getByRole("textbox", { name: "Message" }).waitFor();
  expect({
    message: await page.getByRole("textbox", { name: "Message" }).inputValue(),
    system: await page.getByLabel("System prompt").inputValue(),
    temperature: await page.getByLabel("temperature").inputValue(),
  }).toEqual({ message: `hello ${minted.mark}`, system: "Be brief", temperature: "0.5" });
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByRole("article", { name: minted.model.model_name }).getByText("Cost").waitFor();
  const sent = upstream.seen(minted.mark).map(({ body: each }) => each);
  expect(sent[1]).toEqual(sent[0]);
  expect(problems()).toEqual([]);
});

it("people of a tenant see that it is captured, and not what", async () => {
  const { gateway } = fixture;
  const { page, tenant } = await fixture.open({ as: "user" });
  const until = new Date(Date.now() + 3_600_000).toISOString();
  await gateway.must("PATCH", `/tenants/${tenant?.id ?? ""}`, { capture_until: until });
  await page.goto("/");
  await page.getByText("An administrator captures the requests and responses").waitFor();
  const answer = await page.request.get(`/api/live/usage/logs/${crypto.randomUUID()}/capture`);
  expect(answer.status()).toBe(403);
});

const userSays = (mark: string) => ({ role: "user", content: `hello ${mark}` });
