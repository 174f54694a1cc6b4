import { playgroundTexts } from "../../messages/en/playground.ts";
import { texts } from "../../messages/texts.ts";
import { CheckField, SelectField, TextArea, TextField } from "../../ui/fields.tsx";
import { Fold } from "../../ui/fold.tsx";
import { Panel } from "../../ui/layout.tsx";
import classes from "./playground-page.module.css";
import {
  numbersOf,
  type SettingName,
  TOOL_CHOICES,
  type TypedSettings,
  toolNames,
  validatedSettings,
} from "./request-settings.ts";

const text = texts("playground", playgroundTexts);

/** What a request says besides its messages. Numbers have the names of the API. */
export function SettingsPanel({
  typed,
  onType,
}: {
  readonly typed: TypedSettings;
  readonly onType: (typed: TypedSettings) => void;
}) {
  const { errors } = validatedSettings(typed);
  const field = (name: SettingName) => ({
    value: typed[name] ?? "",
    error: errors[name],
    onChange: (event: { readonly target: { readonly value: string } }) =>
      onType({ ...typed, [name]: event.target.value }),
  });
  return (
    <Panel title={text("settings")} note={text("settingsNote")}>
      <SelectField
        label={text("api")}
        {...field("api")}
        choices={[
          { value: "", label: text("chatApi") },
          { value: "messages", label: text("messagesApi") },
        ]}
      />
      <TextArea label={text("system")} dir="auto" rows={3} {...field("system")} />
      <div className={classes["numbers"]}>
        {numbersOf(typed).map(({ name }) => (
          <TextField key={name} label={<code>{name}</code>} inputMode="decimal" autoComplete="off" {...field(name)} />
        ))}
      </div>
      <CheckField
        label={text("stream")}
        checked={typed.stream !== "off"}
        onChange={(event) => onType({ ...typed, stream: event.target.checked ? "" : "off" })}
      />
      <Fold title={text("more")} isNeeded={["tools", "schema", "stop"].some((name) => errors[name as SettingName])}>
        <TextArea label={text("stop_words")} rows={2} {...field("stop")} />
        <TextArea
          label={text("tools")}
          hint={text("toolsHint")}
          className={classes["mono"]}
          spellCheck={false}
          rows={4}
          {...field("tools")}
        />
        <SelectField
          label={text("tool_choice")}
          {...field("tool_choice")}
          choices={[
            { value: "", label: text("unset") },
            ...TOOL_CHOICES.map((choice) => ({ value: choice, label: choice })),
            ...toolNames(typed)
              .filter((name) => !TOOL_CHOICES.some((one) => one === name))
              .map((name) => ({ value: name, label: text("onlyTool", { name }) })),
          ]}
        />
        <TextArea
          label={text("schema")}
          hint={text("schemaHint")}
          className={classes["mono"]}
          spellCheck={false}
          rows={4}
          {...field("schema")}
        />
      </Fold>
    </Panel>
  );
}
