/** Programs that no package of npm brings, on machines that have them. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Where a program is; undefined when this machine does not have it. */
export function programPath(name: string): string | undefined {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
}
