/** What the forms of specs and recipes have in common: headings, scripts, and what the scheduler offers. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { read } from "../../data/reads.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";
import type { OwnControl } from "../../forms/record/field-control.tsx";
import { fieldHint, fieldLabel } from "../../forms/record/field-words.ts";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { texts } from "../../messages/texts.ts";
import { TextArea } from "../../ui/fields.tsx";
import classes from "./deployments.module.css";
import { offeredResources, resourceWarnings } from "./resource-warnings.ts";
import { ScriptPreview } from "./script-preview.tsx";

const text = texts("deployments", deploymentTexts);
const RESOURCES_MS = 60_000;

/** Headings of the parts of the form, by the first field of each. */
export const SPEC_HEADINGS: Readonly<Record<string, string>> = {
  target_replicas: text("group_target_replicas"),
  partition: text("group_partition"),
  image: text("group_image"),
  script_body: text("group_script_body"),
};

/** Scripts, each with the lines that it needs to be read. */
export const SCRIPT_CONTROLS: Readonly<Record<string, OwnControl>> = Object.fromEntries(
  Object.entries({ preamble: 5, launch_command: 6, script_body: 4 }).map(([name, rows]) => [
    name,
    ({ typed, onType, error }) => (
      <TextArea
        label={fieldLabel(name)}
        hint={fieldHint(name)}
        error={error}
        rows={rows}
        wrap="off"
        spellCheck={false}
        className={classes["script"]}
        value={typeof typed === "string" ? typed : ""}
        onChange={(event) => onType(event.target.value)}
      />
    ),
  ]),
);

/** What the scheduler offers for the fields, and what stands below a form of a spec: what is run, and what would be refused. */
export function useSpecHelp(): {
  readonly offered: Readonly<Record<string, readonly string[]>> | undefined;
  readonly below: (values: FieldValues) => ReactNode;
} {
  const settings = useQuery(read("/api/v1/settings/jobsched"));
  const isSet = settings.data !== undefined && settings.data.url !== "";
  const { data, error } = useQuery(read("/api/v1/jobsched/resources", {}, { everyMs: RESOURCES_MS, enabled: isSet }));
  return {
    offered: data === undefined ? undefined : offeredResources(data),
    below: (values) => (
      <ScriptPreview
        values={values}
        warnings={data === undefined ? [] : resourceWarnings(values, data)}
        unasked={error === null ? null : text("resourcesFailed", { reason: error.message })}
      />
    ),
  };
}
