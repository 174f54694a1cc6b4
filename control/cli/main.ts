/**
 * `npm run gateway --` or `npx gateway`: the Management API on a terminal. It is part of control because it is an adapter
 * of that API; it uses the client that is generated from the API document and opens no store of a gateway.
 */
import { Command, CommanderError } from "commander";
import { unknownText } from "../../shared/env/unknown-variables.ts";
import { terminalText } from "../../shared/text/printable.ts";
import { readVersion } from "../kernel/build-info.ts";
import { checkNames } from "../kernel/check-names.ts";
import { EnvError } from "../kernel/env-field.ts";
import { addCommands } from "./commands.ts";
import { CliError } from "./session.ts";

const USAGE_ERROR = 2;

const program = new Command("gateway")
  .description("Manages a running gateway: tenants, keys, models, usage, backup.")
  .version(readVersion(), "--version", "print the version")
  .option("--url <url>", "the admin listener (GATEWAY_ADMIN_BASE_URL, default http://127.0.0.1:9180)")
  .option("--json", "print JSON, for scripts")
  .addHelpText(
    "after",
    "\nThe admin token comes from GATEWAY_ADMIN_TOKEN, else from the data folder of a gateway started here.\nExit code: 0 success, 1 refused or failed, 2 invalid command.",
  )
  .exitOverride();
addCommands(program, readVersion());

try {
  checkNames(process.env, (each) => process.stderr.write(`warning: ${terminalText(unknownText([each]))}\n`));
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : USAGE_ERROR;
  } else {
    const message =
      error instanceof CliError || error instanceof EnvError ? error.message : `unexpected failure: ${String(error)}`;
    process.stderr.write(`${message.split("\n").map(terminalText).join("\n")}\n`);
    process.exitCode = 1;
  }
}
if (process.connected) process.disconnect();
