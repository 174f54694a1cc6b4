/**
 * From an invitation to the first token: somebody signs in for the first time, an admin lets them in, they create a key and run the
 * line that the page shows, and see their request.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import type { Gateway } from "../../harness/gateway.ts";
import type { Walk } from "./walk.ts";

const run = promisify(execFile);

interface TenantWalk {
  readonly walk: Walk;
  readonly gateway: Gateway;
  /** The console's first page, as an admin. */
  readonly admin: Page;
  /** The page for signing in; the provider knows who it is. Its browser lets pages read the clipboard. */
  readonly person: Page;
  readonly providerName: string;
  readonly email: string;
  /** It exists, and may use a model. */
  readonly tenantName: string;
}

/** What the person's call answered. */
export async function walkAsTenant(options: TenantWalk): Promise<string> {
  const { walk, gateway, admin, person, providerName, email, tenantName } = options;
  const [admins, people] = ["Admin", "Person"] as const;
  await walk.click(
    people,
    person.getByRole("link", { name: `Sign in with ${providerName}` }),
    `Sign in with ${providerName}`,
  );
  await person.getByRole("heading", { name: "Your account is awaiting approval" }).waitFor();
  await walk.see("The person waits for approval", person);

  await walk.click(admins, admin.getByRole("link", { name: "Users", exact: true }), "Users");
  await walk.click(admins, admin.getByRole("button", { name: `Approve ${email}` }), "Approve");
  const panel = admin.getByRole("dialog");
  await walk.type(admins, panel.getByRole("combobox", { name: "Tenant" }), "Tenant", tenantName);
  await walk.click(admins, panel.getByRole("option", { name: tenantName }), tenantName);
  await walk.see("The admin chooses the tenant", admin);
  await walk.click(admins, panel.getByRole("button", { name: "Approve", exact: true }), "Approve");

  await person.getByRole("heading", { level: 1, name: tenantName }).waitFor();
  await person.getByText("No: there is no key yet.").waitFor();
  await walk.see("The user's page opens and says what is missing", person);
  await walk.click(people, person.getByRole("main").getByRole("link", { name: "Keys", exact: true }), "Keys");
  await walk.click(people, person.getByRole("button", { name: "Create key" }), "Create key");
  const dialog = person.getByRole("dialog");
  await walk.type(people, dialog.getByLabel("Name", { exact: true }), "Name", "first");
  await walk.click(people, dialog.getByRole("button", { name: "Create key" }), "Create key");
  await person.getByText("Waiting for your first request").waitFor();
  await walk.see("The secret, once, and the line to run", person);
  // "Copied" stands there for a moment alone
  const copied = dialog.getByRole("button", { name: "Copied" }).waitFor();
  const example = dialog.getByRole("button", { name: "Copy example" });
  await Promise.all([copied, walk.click(people, example, "Copy example")]);

  const line = await person.evaluate(async () => await navigator.clipboard.readText());
  await gateway.confirmed("the key");
  const { stdout } = await run("sh", ["-c", `${line} --silent --max-time 30`]);
  walk.note(people, "Run the line in a terminal, and see the first token");
  await walk.click(people, person.getByRole("link", { name: "View request" }), "View request");
  await person.getByRole("complementary", { name: "Request" }).waitFor();
  await walk.see("The request, with what it cost and where its time went", person);
  return stdout;
}
