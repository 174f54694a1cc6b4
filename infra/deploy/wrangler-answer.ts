/** The end of a wrangler command, and its answer. */
import { stripVTControlCharacters } from "node:util";
import { z } from "zod";

/** How a command of wrangler ended. */
export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The lines that wrangler writes for programs (WRANGLER_OUTPUT_FILE_PATH), parsed. */
  readonly entries: readonly unknown[];
}

/** Raised when a command of wrangler fails; the message has the command and the end of its output. */
export class WranglerError extends Error {
  override readonly name = "WranglerError";
}

/** The reason for a failed command, in wrangler's form for programs. */
interface CommandFailure {
  /** The number of the account API's error; null: wrangler itself refused. */
  readonly code: number | null;
  readonly message: string;
}

const failureSchema = z.object({
  type: z.literal("command-failed"),
  code: z.union([z.number(), z.string()]).nullish(),
  message: z.string(),
});
const uploadSchema = z.object({ type: z.enum(["version-upload", "deploy"]), version_id: z.string() });

/** The last lines that a command printed, without colours. */
const LINES_OF_FAILURE = 6;
/** Text that wrangler adds to every error, and that nobody needs here. */
const PADDING = /please open an issue at|Logs were written to/;

/** The output of a failed command for programs; null: none, for example because it was ended from outside. */
export function failureIn({ entries }: CommandResult): CommandFailure | null {
  const failure = entries.map((entry) => failureSchema.safeParse(entry)).findLast(({ success }) => success)?.data;
  if (failure === undefined) return null;
  return { code: typeof failure.code === "number" ? failure.code : null, message: failure.message };
}

/** The version that a command uploaded. Throws WranglerError when it does not say. */
export function versionIn({ entries }: CommandResult): string {
  const upload = entries.map((entry) => uploadSchema.safeParse(entry)).findLast(({ success }) => success)?.data;
  if (upload === undefined)
    throw new WranglerError("wrangler did not say which version it uploaded: look at the dashboard");
  return upload.version_id;
}

/** The error of a failed command, with its last output. */
export function wranglerFailure(
  command: readonly string[],
  { stdout, stderr, exitCode }: CommandResult,
  fix = "",
): WranglerError {
  const lines = stripVTControlCharacters(`${stdout}\n${stderr}`)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !PADDING.test(line));
  const said = lines.slice(-LINES_OF_FAILURE).join(" / ");
  return new WranglerError(
    `wrangler ${command.join(" ")} ended with ${exitCode}: ${said}${fix === "" ? "" : `; ${fix}`}`,
  );
}
