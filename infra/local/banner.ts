/** What the operator sees when the stack is up. Pure. */
import type { Stack } from "./stack.ts";

type Shown = Pick<Stack, "proxyUrl" | "adminUrl" | "metricsUrl" | "adminToken" | "adminTokenMade" | "demo">;

/** Where secrets lie, as paths that work in the operator's shell. */
interface BannerPaths {
  readonly adminToken: string;
  readonly demoKey: string;
}

/** A word for a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w./@%+=:,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The lines to print. The demo key is shown by the start that made it; later ones say where it is. */
export function bannerLines(stack: Shown, paths: BannerPaths): readonly string[] {
  const lines = [
    "",
    "The gateway is ready.",
    `  data plane      ${stack.proxyUrl}/v1`,
    `  management API  ${stack.adminUrl}/api/v1`,
    `  metrics         ${stack.metricsUrl}/metrics`,
    `  admin token     ${stack.adminTokenMade ? `${stack.adminToken}  (kept in ${paths.adminToken})` : `in ${paths.adminToken}`}`,
  ];
  if (stack.demo === null) return [...lines, ""];
  const { apiKey, model, made } = stack.demo;
  const body = JSON.stringify({ model, stream: true, messages: [{ role: "user", content: "Hello" }] });
  const key = made ? apiKey : `$(cat ${shellWord(paths.demoKey)})`;
  return [
    ...lines,
    `  demo key        ${made ? `${apiKey}  (kept in ${paths.demoKey})` : `in ${paths.demoKey}`}`,
    "",
    "Try it:",
    `  curl -N ${stack.proxyUrl}/v1/chat/completions -H "authorization: Bearer ${key}" -H "content-type: application/json" -d '${body}'`,
    "",
  ];
}
