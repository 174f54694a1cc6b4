import { jobScript, PORT_SPAN_DEFAULT } from "../../../shared/schema/job-script.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";
import { commonText } from "../../messages/common.ts";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { texts } from "../../messages/texts.ts";
import { Code } from "../../ui/copy.tsx";
import { Stack } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import { windowOf, writtenOf } from "./script-parts.ts";

const text = texts("deployments", deploymentTexts);

interface ScriptPreviewProps {
  /** What the form says, not validated yet. */
  readonly values: FieldValues;
  /** What the scheduler would refuse, one sentence each. */
  readonly warnings: readonly string[];
  /** That the scheduler was not asked what it has; null: it was. */
  readonly unasked: string | null;
}

/** The script of a job as the gateway submits it, and what would keep the job from starting or from being found. */
export function ScriptPreview({ values, warnings, unasked }: ScriptPreviewProps) {
  const written = writtenOf(values);
  const ports = windowOf(values["serving_port"]);
  const isThere = ports !== null && (written.script_body !== "" || written.launch_command.trim() !== "");
  const script = isThere ? jobScript(written, ports.first, PORT_SPAN_DEFAULT) : "";
  const isLeftAlone = isThere && script === written.script_body;
  const portVariable = isLeftAlone ? "GATEWAY_PORT_BASE" : "GATEWAY_SERVING_PORT";
  const own = written.script_body || `${written.preamble}\n${written.launch_command}`;
  return (
    <Stack>
      {unasked !== null && <Notice tone="warn">{unasked}</Notice>}
      {warnings.length > 0 && (
        <Notice tone="warn">
          {warnings.map((warning) => (
            <p key={warning}>{warning}</p>
          ))}
        </Notice>
      )}
      <h3>{text("preview")}</h3>
      {isThere ? (
        <>
          <p>{isLeftAlone ? text("previewOwn") : text("previewNote", { ...ports })}</p>
          {!own.includes(portVariable) && <Notice tone="warn">{text("previewNoPort", { name: portVariable })}</Notice>}
          <Code text={script} label={commonText("copy")} doneLabel={commonText("copied")} />
        </>
      ) : (
        <p>{text("previewEmpty")}</p>
      )}
    </Stack>
  );
}
