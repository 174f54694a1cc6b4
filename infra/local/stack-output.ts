/**
 * The output of `npm start`: lines for people on a terminal (time, part, event, its meaning), one JSON object a line elsewhere.
 * Pure except for the clock.
 */
import { printableJson, terminalText } from "../../shared/text/printable.ts";
import { censored } from "../../shared/text/redaction.ts";
import { type BannerPaths, bannerLines, type Shown, tryCommand } from "./banner.ts";
import { EVENT_MEANINGS } from "./event-meanings.ts";
import { jsonLine } from "./process/child.ts";

/** Each answer is the lines to print, without their ends; nothing in them is acted upon by a terminal. */
interface StackOutput {
  /** A line of a part's log. */
  part(part: string, line: string): readonly string[];
  /** Every part runs. */
  ready(stack: Shown, paths: BannerPaths): readonly string[];
  /** Everything has stopped as it was asked to. */
  stopped(): readonly string[];
}

const STOPPED = "The gateway has stopped.";
/** As pino numbers them. */
const INFO = 30;
const WARN = 40;
const ERROR = 50;

/** Lines for people when standard output is a terminal, else JSON. `now`: ms since 1970. */
export function stackOutput(isTerminal: boolean, now: () => number): StackOutput {
  return isTerminal ? forPeople(now) : asJson(now);
}

function json(fields: object): readonly string[] {
  return [printableJson(JSON.stringify(fields))];
}

/** A part's line as JSON, with the name of its part, a level and a time. `now`: ms since 1970. */
export function partLine(now: () => number, part: string, text: string): readonly string[] {
  const { level, time, ...fields } = jsonLine(text) ?? {
    level: levelOf(text),
    event: "output",
    message: censored(text),
  };
  return json({
    level: typeof level === "number" ? level : INFO,
    time: typeof time === "string" ? time : new Date(now()).toISOString(),
    ...fields,
    part,
  });
}

/** The level of a line that a program wrote outside its log, by its words. */
function levelOf(text: string): number {
  if (/\b(?:error|fatal|exception|uncaught|panic)\b/i.test(text)) return ERROR;
  return /\bwarn(?:ing)?\b/i.test(text) ? WARN : INFO;
}

/** A line of the launcher's own as JSON. `now`: ms since 1970. */
export function stackLine(now: () => number, event: string, message: string, more: object = {}): readonly string[] {
  return json({ part: "stack", level: INFO, time: new Date(now()).toISOString(), event, message, ...more });
}

function asJson(now: () => number): StackOutput {
  const own = (event: string, message: string, more: object = {}): readonly string[] =>
    stackLine(now, event, message, more);
  return {
    part: (part, text) => partLine(now, part, text),
    ready: (stack, paths) =>
      own("ready", "The gateway is ready.", {
        data_plane: `${stack.proxyUrl}/v1`,
        management_api: `${stack.adminUrl}/api/v1`,
        metrics: `${stack.metricsUrl}/metrics`,
        admin_token: stack.adminTokenMade ? stack.adminToken : null,
        admin_token_in: paths.adminToken,
        ...(stack.dashboard === null
          ? {}
          : {
              console: stack.dashboard.url,
              console_email: stack.dashboard.email,
              console_password: stack.dashboard.passwordMade ? stack.dashboard.password : null,
              console_password_in: paths.consolePassword,
            }),
        ...(stack.demo === null
          ? {}
          : {
              demo_key: stack.demo.made ? stack.demo.apiKey : null,
              demo_key_in: paths.demoKey,
              try: tryCommand(stack, paths),
            }),
      }),
    stopped: () => own("stopped", STOPPED),
  };
}

/** Shown elsewhere in the line, or of no use to a person at the terminal. */
const LEFT_OUT = new Set(["level", "time", "event", "msg", "replica"]);
/** Of a request there is more than a line can hold; the rest is in the JSON, and in `usage/logs`. */
const OF_A_REQUEST = new Set(["model", "error", "reason", "admission", "total_tokens", "total_ms", "request_id"]);

function forPeople(now: () => number): StackOutput {
  return {
    part: (part, text) => {
      const fields = jsonLine(text);
      const time = typeof fields?.["time"] === "string" ? new Date(fields["time"]) : new Date(now());
      const clock = Number.isNaN(time.getTime()) ? new Date(now()) : time;
      const said = fields === undefined ? text : meant(fields);
      return [terminalText(`${clock.toTimeString().slice(0, 8)}  ${part.padEnd(10)}  ${said}`)];
    },
    ready: (stack, paths) => bannerLines(stack, paths).map(terminalText),
    stopped: () => [STOPPED],
  };
}

function meaningOf(event: string): string | undefined {
  return Object.hasOwn(EVENT_MEANINGS, event) ? EVENT_MEANINGS[event] : undefined;
}

/** An event, its meaning and its facts. */
function meant(fields: Readonly<Record<string, unknown>>): string {
  const event = typeof fields["event"] === "string" ? fields["event"] : "message";
  const level = Number(fields["level"]);
  const weight = level >= ERROR ? "error: " : level >= WARN ? "warning: " : "";
  const message = typeof fields["msg"] === "string" ? fields["msg"] : meaningOf(event);
  const facts = Object.entries(fields)
    .filter(([name]) => (event === "request" ? OF_A_REQUEST.has(name) : !LEFT_OUT.has(name)))
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  const said = message === undefined ? event : `${event}: ${message}`;
  return `${weight}${said}${facts.length === 0 ? "" : ` (${facts.join(", ")})`}`;
}
