/**
 * Runs a script or tool of this project on a fitting Node: `node infra/launch.mjs [--omit=dev] <script.ts|tool> args...`. Works
 * on an old Node without any dependency. It installs what package-lock.json names and node_modules lacks, picks Node (this one
 * from version 24 on, else the one in node_modules), hands over the terminal and passes signals and the exit code through. With
 * `--omit=dev` packages for development are not required; existing ones are not removed.
 */
import { spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, readSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { lockInstall } from "./install-lock.mjs";
import { refusedFor } from "./lock-integrity.mjs";
import { hasDevPackages, onlyMissing, staleReasons, thisPlatform } from "./lock-state.mjs";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const NODE_MAJOR = 24;
const FORWARDED = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);
/** Far more than there are listeners. */
const SOCKETS_MAX = 16;
const TELL_EVERY_MS = 5_000;
const KILL_NPM_AFTER_MS = 4_000;
/** Exists while packages are added; npm alone cannot recognise a partly unpacked package. */
const ADDING = join(ROOT, ".install-lock.adding");

/** @param {string} line @returns {never} */
function fail(line) {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}

/** @param {string} path */
function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

function readLock() {
  return (
    readJson(join(ROOT, "package-lock.json")) ??
    fail("package-lock.json cannot be read: restore it from the repository")
  );
}

function readInstalled() {
  return readJson(join(ROOT, "node_modules/.package-lock.json"));
}

/** @param {boolean} omitDev */
function stale(omitDev) {
  return staleReasons(readLock(), readInstalled(), thisPlatform(), { omitDev, cutOff: existsSync(ADDING) });
}

/**
 * The arguments of npm: only missing packages are added to the existing ones, which a running gateway may be using; otherwise
 * the folder is created from scratch.
 * @param {readonly string[]} reasons
 * @param {boolean} omitDev
 */
function npmArguments(reasons, omitDev) {
  const installed = readInstalled();
  const how = installed !== undefined && onlyMissing(reasons) ? ["install", "--no-save"] : ["ci"];
  const omitted = omitDev && !hasDevPackages(readLock(), installed) ? ["--omit=dev"] : ["--include=dev"];
  return [...how, ...omitted, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
}

/**
 * Runs npm; the answer is its exit status, null when it was killed. Says every few seconds that it still runs. A signal ends it, and
 * then this process.
 * @param {string} command
 * @param {readonly string[]} args
 * @returns {Promise<number | null>}
 */
function runNpm(command, args) {
  const npm = spawn(command, args, { cwd: ROOT, stdio: ["ignore", 2, 2] });
  const beganMs = Date.now();
  const telling = setInterval(() => {
    process.stderr.write(`still installing packages, for ${Math.round((Date.now() - beganMs) / 1000)} s\n`);
  }, TELL_EVERY_MS);
  /** @param {NodeJS.Signals} signal @param {number} number */
  const stop = (signal, number) => {
    npm.kill(signal);
    setTimeout(() => npm.kill("SIGKILL"), KILL_NPM_AFTER_MS);
    npm.once("close", () => process.exit(128 + number));
  };
  for (const signal of FORWARDED) process.once(signal, stop);
  return new Promise((done) => {
    npm.once("error", () => done(1));
    npm.once("close", done);
  }).finally(() => {
    clearInterval(telling);
    for (const signal of FORWARDED) process.off(signal, stop);
  });
}

/** @param {boolean} omitDev */
async function install(omitDev) {
  if (stale(omitDev).length === 0) return;
  const release = lockInstall(ROOT, (holder) =>
    process.stderr.write(`waiting for process ${holder}, which installs packages here\n`),
  );
  try {
    const reasons = stale(omitDev);
    if (reasons.length === 0) return; // another launcher did it meanwhile
    const more = reasons.length > 1 ? ` (and ${reasons.length - 1} more)` : "";
    process.stderr.write(`installing packages: ${reasons[0]}${more}\n`);
    const npm = process.env["npm_execpath"];
    const [command, ...first] = npm?.endsWith(".js") ? [process.execPath, npm] : ["npm"];
    const args = npmArguments(reasons, omitDev);
    if (args[0] === "install") writeFileSync(ADDING, "");
    const status = await runNpm(command, [...first, ...args]);
    // An npm that fails and ends normally has undone its changes; one that was killed has not.
    if (status === 0 || (status !== null && args[0] === "install")) rmSync(ADDING, { force: true });
    if (status !== 0) fail(`npm ${args[0]} failed; see above. Fix that, or run \`npm ci\` yourself, and try again`);
    const refused = refusedFor(readLock(), thisPlatform());
    if (refused.length > 0)
      process.stderr.write(
        `left out, as package-lock.json does not know their content: ${refused.join(", ")}; \`npm run lock\` asks the registry for it\n`,
      );
  } finally {
    release();
  }
  // Editors read the client's types, which are not committed. A failure is printed and does not stop the command.
  if (!omitDev) spawnSync(chooseNode(), [join(ROOT, "infra/client.ts")], { stdio: ["ignore", 2, 2] });
}

function chooseNode() {
  if (Number(process.versions.node.split(".")[0]) >= NODE_MAJOR) return process.execPath;
  const bundled = join(ROOT, `node_modules/node-${process.platform}-${process.arch}/bin/node`);
  if (existsSync(bundled)) return bundled;
  return fail(
    `Node ${NODE_MAJOR} or newer is needed and this is ${process.version}: install Node ${NODE_MAJOR} (https://nodejs.org) and run the command again`,
  );
}

/** @param {string} file */
function isNodeScript(file) {
  const descriptor = openSync(file, "r");
  const head = Buffer.alloc(64);
  readSync(descriptor, head, 0, head.length, 0);
  closeSync(descriptor);
  return /\.[cm]?[jt]s$/.test(file) || /^#!.*\bnode\b/.test(head.toString("latin1"));
}

/** @param {string} target @param {string} node @returns {string[]} */
function commandFor(target, node) {
  if (/\.(ts|mjs)$/.test(target)) return [node, resolve(ROOT, target)];
  const linked = join(ROOT, "node_modules/.bin", target);
  if (!existsSync(linked)) fail(`there is no tool named ${target} in node_modules/.bin`);
  const file = realpathSync(linked);
  return isNodeScript(file) ? [node, file] : [file];
}

const words = process.argv.slice(process.argv[2] === "--" ? 3 : 2);
const omitDev = words[0] === "--omit=dev";
const [target, ...args] = omitDev ? words.slice(1) : words;
if (target === undefined) fail("usage: node infra/launch.mjs [--omit=dev] <script.ts|tool> args...");
await install(omitDev);
const node = chooseNode();
const [command = node, ...first] = commandFor(target, node);
const isOurs = target.endsWith(".ts");
// Sockets of a service manager (sd_listen_fds) are handed on, under the pid of the script.
const { LISTEN_PID, LISTEN_FDS = "0" } = process.env;
const handed = LISTEN_PID === String(process.pid) ? LISTEN_FDS : "0";
if (!/^\d+$/.test(handed) || Number(handed) > SOCKETS_MAX)
  fail(`LISTEN_FDS must be the number of handed sockets, from 0 to ${SOCKETS_MAX}, in digits`);
const sockets = Array.from({ length: Number(handed) }, (_, at) => 3 + at);
const shell = sockets.length > 0 ? ["/bin/sh", "-c", 'export LISTEN_PID=$$; exec "$@"', "sh"] : [];
const [program = command, ...programArgs] = [...shell, command, ...first, ...args];
const child = spawn(program, programArgs, {
  // the channel closes with this process, however it ends: a script of ours notices and stops
  stdio: ["inherit", "inherit", "inherit", ...sockets, ...(isOurs ? [/** @type {const} */ ("ipc")] : [])],
  env: { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env["PATH"] ?? ""}` },
});
for (const signal of FORWARDED) {
  process.on(signal, () => {
    // a terminal sends Ctrl-C to the whole group already
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.once("error", (error) => fail(`${command} cannot be started: ${error.message}`));
child.once("exit", (code, signal) => {
  if (signal === null) process.exit(code ?? 1);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
