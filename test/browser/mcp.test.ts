/** MCP servers in a real browser: a server is registered, tested, disabled and deleted. */
import { randomUUID } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import type { McpServer } from "../../shared/schema/mcp-server.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { startReferenceServer } from "../harness/mcp-reference/server.ts";

const console_ = useConsole();

it("registers a server, lists its tools, and disables and deletes it", async () => {
  const { gateway } = console_;
  const reference = await startReferenceServer();
  onTestFinished(async () => await reference.close());
  const name = `docs-${randomUUID().slice(0, 8)}`;
  const serverNow = async (): Promise<McpServer | undefined> =>
    (await gateway.must<McpServer[]>("GET", "/mcp-servers?limit=1000")).find((server) => server.name === name);

  const { page, problems } = await console_.open({ as: "admin" });
  await page.goto("/mcp");
  await page.getByRole("button", { name: "Register server" }).click();
  const creating = page.getByRole("dialog");
  await creating.getByLabel("Name").fill(name);
  await creating.getByLabel("URL").fill("ftp://nowhere");
  await creating.getByRole("button", { name: "Register server" }).click();
  await creating.getByText("must be an http or https URL").waitFor();
  await creating.getByLabel("URL").fill(reference.url);
  await creating.getByRole("button", { name: "Register server" }).click();
  await page.getByText(`${name} registered`).waitFor();

  const panel = page.getByRole("dialog", { name });
  await panel.getByRole("button", { name: "Test the connection" }).click();
  await panel.getByText(new RegExp(`${name} answered in`)).waitFor();
  await panel.getByText(/Every tenant, with any key/).waitFor();

  await panel.getByRole("button", { name: "Disable" }).click();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText(`${name} is enabled`).waitFor();
  const [undone, disabled] = await gateway.must<AuditEntry[]>(
    "GET",
    `/audit?entity_id=${(await serverNow())?.id}&limit=2`,
  );
  expect({ undoneDetail: undone?.detail, disabledDetail: disabled?.detail }).toMatchObject({
    undoneDetail: { changed: { enabled: [false, true] } },
    disabledDetail: { changed: { enabled: [true, false] } },
  });
  await panel.getByRole("button", { name: "Disable" }).waitFor();

  await panel.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText(`${name} deleted`).waitFor();
  expect(await serverNow()).toBeUndefined();
  expect(problems()).toEqual([]);
});
