/** The text for the operator when the stack is up. Pure. */
import type { DashboardAccess } from "./dashboard.ts";
import type { Stack } from "./stack.ts";

/** The facts of a stack that the banner shows. */
export type Shown = Pick<
  Stack,
  "proxyUrl" | "adminUrl" | "metricsUrl" | "adminToken" | "adminTokenMade" | "dashboard" | "demo"
>;

/** Where secrets lie, as paths that work in the operator's shell. */
export interface BannerPaths {
  readonly adminToken: string;
  readonly consolePassword: string;
  readonly demoKey: string;
}

/** A text quoted for a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w./@%+=:,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A command that asks the demo's model; undefined without a demo. */
export function tryCommand({ proxyUrl, demo }: Shown, paths: BannerPaths): string | undefined {
  if (demo === null) return undefined;
  const body = JSON.stringify({ model: demo.model, stream: true, messages: [{ role: "user", content: "Hello" }] });
  const key = demo.made ? demo.apiKey : `$(cat ${shellWord(paths.demoKey)})`;
  return `curl -N ${proxyUrl}/v1/chat/completions -H "authorization: Bearer ${key}" -H "content-type: application/json" -d '${body}'`;
}

/** Where the console is, and as whom to sign in. */
function consoleLines({ url, email, password, passwordMade }: DashboardAccess, paths: BannerPaths): readonly string[] {
  const shown = passwordMade ? `${password}  (kept in ${paths.consolePassword})` : `in ${paths.consolePassword}`;
  return [`  console         ${url}`, `    email         ${email}`, `    password      ${shown}`];
}

/** The lines to print. A secret is shown by the start that made it; later ones say where it is. */
export function bannerLines(stack: Shown, paths: BannerPaths): readonly string[] {
  const lines = [
    "",
    "The gateway is ready.",
    `  data plane      ${stack.proxyUrl}/v1`,
    `  management API  ${stack.adminUrl}/api/v1`,
    `  metrics         ${stack.metricsUrl}/metrics`,
    `  admin token     ${stack.adminTokenMade ? `${stack.adminToken}  (kept in ${paths.adminToken})` : `in ${paths.adminToken}`}`,
  ];
  if (stack.dashboard !== null) lines.push(...consoleLines(stack.dashboard, paths));
  if (stack.demo === null) return [...lines, ""];
  const { apiKey, made } = stack.demo;
  return [
    ...lines,
    `  demo key        ${made ? `${apiKey}  (kept in ${paths.demoKey})` : `in ${paths.demoKey}`}`,
    "",
    "Try it:",
    `  ${tryCommand(stack, paths)}`,
    "",
  ];
}
