import { historyTexts } from "../../messages/en/history.ts";
import { texts } from "../../messages/texts.ts";
import { Facts } from "../../ui/layout.tsx";
import { factLabel } from "../record/fact-text.ts";
import { changedText } from "./changes.ts";
import classes from "./difference.module.css";
import { entryDetail } from "./difference.ts";

const text = texts("history", historyTexts);

interface DifferenceProps {
  /** Of an entry of the audit log. */
  readonly detail: Readonly<Record<string, unknown>>;
  /** By whose clock times are shown. */
  readonly zone: string;
}

/** What an entry of the audit log tells: old and new of each field, and everything else. */
export function Difference({ detail, zone }: DifferenceProps) {
  const { differences, facts } = entryDetail(detail);
  return (
    <>
      {facts.length > 0 && (
        <Facts
          facts={facts.map(([name, value]) => [
            factLabel(name),
            <bdi key={name}>{changedText(name, value, zone)}</bdi>,
          ])}
        />
      )}
      {differences.length > 0 && (
        <table className={classes["difference"]}>
          <thead>
            <tr>
              {(["field", "before", "after"] as const).map((id) => (
                <th key={id} scope="col">
                  {text(id)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {differences.map((one) => (
              <tr key={one.field}>
                <th scope="row">{one.field.split(".").map(factLabel).join(" / ")}</th>
                {one.isSecret ? (
                  <td colSpan={2}>{text("secret")}</td>
                ) : (
                  <>
                    <td dir="auto" className={classes["before"]}>
                      {changedText(memberOf(one.field), one.before, zone)}
                    </td>
                    <td dir="auto">{changedText(memberOf(one.field), one.after, zone)}</td>
                  </>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

/** The member that a path ends in. */
const memberOf = (path: string): string => path.slice(path.lastIndexOf(".") + 1);
