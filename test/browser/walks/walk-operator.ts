/** From nothing to a tenant that calls a model: an operator signs in, makes a model, a tenant and its key, and runs the line. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import type { Gateway } from "../../harness/gateway.ts";
import type { Walk } from "./walk.ts";

const run = promisify(execFile);
const OPERATOR = "Operator";

interface OperatorWalk {
  readonly walk: Walk;
  readonly gateway: Gateway;
  /** The page for signing in; its browser lets pages read the clipboard. */
  readonly page: Page;
  readonly access: { readonly email: string; readonly password: string };
  /** A model that is not there yet, with a server that serves it: the first one by its name. */
  readonly model: { readonly name: string; readonly address: string; readonly upstreamModel: string };
  readonly tenantName: string;
}

/** What the tenant's first call answered. */
export async function walkAsOperator(options: OperatorWalk): Promise<string> {
  const { walk, gateway, page, access, model, tenantName } = options;
  const click = async (role: "button" | "link" | "tab", name: string): Promise<void> =>
    await walk.click(OPERATOR, page.getByRole(role, { name, exact: true }).last(), name);
  const type = async (name: string, text: string): Promise<void> =>
    await walk.type(OPERATOR, page.getByLabel(name, { exact: true }), name, text);
  const isAt = async (name: string): Promise<void> => await page.getByRole("heading", { level: 1, name }).waitFor();

  await type("Email", access.email);
  await type("Password", access.password);
  await click("button", "Sign in");
  await isAt("Overview");

  await click("link", "Models");
  await click("button", "Create model");
  await type("Name", model.name);
  await type("Base URL", model.address);
  await type("Upstream model", model.upstreamModel);
  await walk.see("The model, and where it is served", page);
  await click("button", "Create model");
  const anyway = page.getByRole("button", { name: "Create anyway" });
  await anyway.or(page.getByRole("heading", { level: 1, name: model.name })).waitFor();
  if (await anyway.isVisible()) await click("button", "Create anyway");
  await isAt(model.name);

  await click("link", "Tenants");
  await click("button", "Create tenant");
  await type("Name", tenantName);
  await click("button", "Create tenant");
  await isAt(tenantName);
  await click("tab", "Keys");
  await click("button", "Create key");
  await type("Name", "first");
  await click("button", "Create key");
  await page.getByText("Waiting for your first request").waitFor();
  await walk.see("The tenant's key, once, and the line to run", page);
  // "Copied" stands there for a moment alone
  const copied = page.getByRole("button", { name: "Copied" }).waitFor();
  await Promise.all([copied, click("button", "Copy example")]);

  const line = await page.evaluate(async () => await navigator.clipboard.readText());
  await gateway.confirmed("the key");
  const { stdout } = await run("sh", ["-c", `${line} --silent --max-time 30`]);
  walk.note(OPERATOR, "Run the line in a terminal, and see the first token");
  await click("link", "View request");
  await page.getByRole("complementary", { name: "Request" }).waitFor();
  await walk.see("The request, and where its time went", page);
  return stdout;
}
