/**
 * The script of a replica's job (docs/rules/provisioner.md#scripts): the spec's own, or one made of its preamble, image and
 * command; in both the part that finds a free port comes right after the first line. The console shows it before anything is
 * submitted.
 */
import type { ManagedModel } from "./managed-model.ts";

const FIRST_LINE_MAX = 256;

/** How many ports each replica's window has, unless GATEWAY_PORT_SPAN says otherwise. */
export const PORT_SPAN_DEFAULT = 8;

/** What of a spec becomes a script. */
type Scripted = Pick<ManagedModel, "script_body" | "preamble" | "image" | "launch_command">;

/** Interpreters that understand the port part; a script for another one reads the variables of the window itself. */
const SHELL = /^#!\s*(?:\S*\/)?(?:env\s+(?:-S\s+)?)?(?:\S*\/)?(?:ba|da|k|z)?sh(?:\s|$)/;

/** The script of one job whose window of ports starts at a port. */
export function jobScript(spec: Scripted, portBase: number, span: number): string {
  if (spec.script_body === "") {
    const command =
      spec.image === "" ? spec.launch_command : `apptainer exec --nv ${quoted(spec.image)} ${spec.launch_command}`;
    const parts = ["#!/bin/bash", portPart(portBase, span), spec.preamble, command];
    return `${parts.filter((part) => part.trim() !== "").join("\n")}\n`;
  }
  const end = spec.script_body.indexOf("\n");
  const first = end < 0 ? spec.script_body : spec.script_body.slice(0, end);
  if (!SHELL.test(first.slice(0, FIRST_LINE_MAX))) return spec.script_body;
  return `${first}\n${portPart(portBase, span)}\n${end < 0 ? "" : spec.script_body.slice(end + 1)}`;
}

/**
 * Exports the first port of the window that nothing on the node listens on; ends the job when there is none. `ss` sees every
 * listener; where it is missing, a connection to the node itself tells.
 */
function portPart(portBase: number, span: number): string {
  const last = portBase + span - 1;
  return [
    `gateway_port=${portBase}`,
    "while :; do",
    "  if command -v ss >/dev/null 2>&1; then",
    '    [ -z "$(ss -Hltn "sport = :$gateway_port" 2>/dev/null)" ] && break',
    "  else",
    '    bash -c "exec 3<>/dev/tcp/127.0.0.1/$gateway_port" 2>/dev/null || break',
    "  fi",
    "  gateway_port=$((gateway_port + 1))",
    `  if [ "$gateway_port" -gt ${Math.min(last, 65_535)} ]; then`,
    `    echo "no free port from ${portBase} to ${Math.min(last, 65_535)}" >&2`,
    "    exit 1",
    "  fi",
    "done",
    'export GATEWAY_SERVING_PORT="$gateway_port"',
  ].join("\n");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
