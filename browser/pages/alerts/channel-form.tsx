/** The controls of a channel's form. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type * as z from "zod";
import { ALERT_TITLES } from "../../../shared/catalogues/alerts.ts";
import { createChannelSchema } from "../../../shared/schema/alert-channel.ts";
import { CHANNEL_TYPES, type ChannelType } from "../../../shared/schema/settings/alerts.ts";
import { read } from "../../data/reads.ts";
import { type FieldValues, undoBody } from "../../forms/record/drafts.ts";
import type { OwnControl } from "../../forms/record/field-control.tsx";
import { type FieldSpec, fieldSpecs, valueSpec } from "../../forms/record/field-specs.ts";
import { alertChannelTexts } from "../../messages/en/alert-channels.ts";
import { texts } from "../../messages/texts.ts";
import { CheckField, SelectField, TextField } from "../../ui/fields.tsx";

const text = texts("alert-channels", alertChannelTexts);

export const CHANNEL_READS = ["/api/v1/alert-channels", "/api/v1/alert-channels/{id}", "/api/v1/audit"] as const;

const { shape } = createChannelSchema;
const RULE = fieldSpecs(["min_severity", "min_interval_secs"], {
  min_severity: { value: shape.min_severity },
  min_interval_secs: { value: shape.min_interval_secs },
}).map((spec) => (spec.name === "min_interval_secs" ? { ...spec, hint: text("intervalHint") } : spec));
const NAME = fieldSpecs(["name"], { name: { value: shape.name } });
const RECIPIENTS: FieldSpec = { name: "recipients", kind: "lines", isNullable: false, choices: [] };

/** Name, address of the type, and the rule. */
export function channelSpecs(type: ChannelType): readonly FieldSpec[] {
  return [...NAME, type === "email" ? RECIPIENTS : valueSpec("url"), ...RULE, valueSpec("kinds")];
}

/** A new channel of the type needs its address. */
export function newChannelSchema(type: ChannelType): z.ZodType {
  const { url, recipients } = shape;
  return createChannelSchema
    .omit({ type: true })
    .extend(
      type === "email"
        ? { recipients: recipients.unwrap().unwrap() }
        : { url: url.unwrap().refine((typed) => typed !== "", text("urlMissing")) },
    );
}

/** What takes a change back; null: nothing does, because nobody here knows the URL from before. */
export function undoChannel(body: FieldValues, base: FieldValues): FieldValues | null {
  return typeof body["url"] === "string" ? null : undoBody(body, base);
}

/** A URL is given again, or stays: without one a webhook is nothing. `empty`: what an empty field means. */
const urlControl =
  (hint: ReactNode, empty: "" | undefined): OwnControl =>
  ({ typed, onType, error }) => (
    <TextField
      label={text("url")}
      hint={hint}
      type="password"
      autoComplete="new-password"
      value={typeof typed === "string" ? typed : ""}
      error={error}
      onChange={({ target }) => onType(target.value || empty)}
    />
  );

const KINDS = Object.entries(ALERT_TITLES)
  .map(([kind, title]) => ({ kind, title }))
  .toSorted((a, b) => (a.title < b.title ? -1 : 1));

/** Which alerts, behind a line that says how many: a list of all of them is long. */
const kindsControl: OwnControl = ({ typed, onType, error }) => {
  const chosen = Array.isArray(typed) ? typed.map(String) : [];
  return (
    <details open={error !== undefined}>
      <summary>{chosen.length === 0 ? text("kindsAll") : text("kindsSome", { count: chosen.length })}</summary>
      <p>{text("kindsHint")}</p>
      {error !== undefined && <p role="alert">{error}</p>}
      {KINDS.map(({ kind, title }) => (
        <CheckField
          key={kind}
          label={title}
          hint={kind}
          checked={chosen.includes(kind)}
          onChange={({ target }) =>
            onType(target.checked ? [...chosen, kind] : chosen.filter((other) => other !== kind))
          }
        />
      ))}
    </details>
  );
};

/** How a new URL is stored, which depends on the gateway's encryption key. */
function Storage() {
  const isSealed = useQuery(read("/api/v1/about")).data?.secrets_encrypted;
  return (
    <>
      {isSealed !== undefined && text(isSealed ? "urlSealed" : "urlPlain")} {text("urlNew")}
    </>
  );
}

/** Of the form of a new channel, and of one that is there. */
export const NEW_CONTROLS = { url: urlControl(<Storage />, ""), kinds: kindsControl };
export const STORED_CONTROLS = { url: urlControl(text("urlStored"), undefined), kinds: kindsControl };

/** The type of a new channel, which decides on its other fields. */
export function TypeField({
  type,
  onChoose,
}: {
  readonly type: ChannelType;
  readonly onChoose: (type: ChannelType) => void;
}) {
  return (
    <SelectField
      label={text("channelType")}
      value={type}
      choices={CHANNEL_TYPES.map((value) => ({ value, label: text(`type_${value}`) }))}
      onChange={({ target }) => onChoose(CHANNEL_TYPES.find((one) => one === target.value) ?? type)}
    />
  );
}
