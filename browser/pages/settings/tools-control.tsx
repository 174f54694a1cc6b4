import { useQuery } from "@tanstack/react-query";
import { assistantState } from "../../data/assistant.ts";
import { fieldLabel } from "../../forms/record/field-words.ts";
import { settingsTexts } from "../../messages/en/settings.ts";
import { texts } from "../../messages/texts.ts";
import { Badge } from "../../ui/badge.tsx";
import { CheckField } from "../../ui/fields.tsx";
import { Loaded } from "../../ui/states.tsx";
import { isOn, type Switches, switched, type ToolGroup, toolGroups } from "./tool-switches.ts";
import classes from "./tools-control.module.css";

const text = texts("settings", settingsTexts);

interface ToolsControlProps {
  readonly typed: unknown;
  readonly error: string | undefined;
  readonly onType: (switches: Switches) => void;
}

/** Which tools the assistant has, by what they are about. */
export function ToolsControl({ typed, error, onType }: ToolsControlProps) {
  const state = useQuery(assistantState);
  const switches = typed as Switches;
  return (
    <fieldset className={classes["tools"]}>
      <legend>{fieldLabel("tools_enabled")}</legend>
      <Loaded state={state}>
        {({ tools }) =>
          toolGroups(tools, switches).map((group) => (
            <Group key={group.resource} group={group} switches={switches} onType={onType} />
          ))
        }
      </Loaded>
      {error !== undefined && <p role="alert">{error}</p>}
    </fieldset>
  );
}

interface GroupProps extends Pick<ToolsControlProps, "onType"> {
  readonly group: ToolGroup;
  readonly switches: Switches;
}

function Group({ group: { resource, tools }, switches, onType }: GroupProps) {
  const names = tools.map(({ name }) => name);
  const on = names.filter((name) => isOn(switches, name)).length;
  const title = resource === "" ? text("toolsGone") : fieldLabel(resource.replaceAll("-", "_"));
  return (
    <details>
      <summary>
        {title}{" "}
        <Badge tone={on === names.length ? "neutral" : "warn"}>{text("toolsOn", { on, all: names.length })}</Badge>
      </summary>
      <div className={classes["group"]}>
        <CheckField
          label={text("toolsAll", { resource: title })}
          checked={on === names.length}
          ref={(input) => {
            if (input !== null) input.indeterminate = on > 0 && on < names.length;
          }}
          onChange={({ target }) => onType(switched(switches, names, target.checked))}
        />
        {tools.map(({ name, title: does, writes }) => (
          <CheckField
            key={name}
            label={does}
            hint={
              <>
                <code>{name}</code> {writes && text("toolWrites")}
              </>
            }
            checked={isOn(switches, name)}
            onChange={({ target }) => onType(switched(switches, [name], target.checked))}
          />
        ))}
      </div>
    </details>
  );
}
