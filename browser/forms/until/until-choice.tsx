import { type ReactNode, useState } from "react";
import { untilTexts } from "../../messages/en/until.ts";
import { texts } from "../../messages/texts.ts";
import { instantAt } from "../../time/local-instants.ts";
import { serverNowMs } from "../../time/server-time.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/fields.tsx";
import { Row } from "../../ui/layout.tsx";
import { endAfter, LENGTHS_MS, type Length, typedEnd } from "./ends.ts";

const text = texts("until", untilTexts);

interface UntilChoiceProps {
  readonly lengths: readonly Length[];
  readonly isBusy: boolean;
  /** What a button of a length does. */
  readonly lengthLabel: (length: string) => string;
  /** What the button for a typed time says. */
  readonly untilLabel: string;
  /** Beside the lengths. */
  readonly children?: ReactNode;
  readonly onChoose: (until: string) => void;
}

/** One of the usual lengths from now, or a typed end. */
export function UntilChoice({ lengths, isBusy, lengthLabel, untilLabel, children, onChoose }: UntilChoiceProps) {
  const { zone } = useZone();
  const [typed, setTyped] = useState("");
  const [isWrong, setWrong] = useState(false);
  const chooseTyped = (): void => {
    const until = typedEnd(instantAt(zone, typed), serverNowMs());
    setWrong(until === null);
    if (until !== null) onChoose(until);
  };
  return (
    <>
      <Row>
        {lengths.map((id) => (
          <Button
            key={id}
            writes
            isBusy={isBusy}
            aria-label={lengthLabel(text(id))}
            onClick={() => onChoose(endAfter(serverNowMs(), LENGTHS_MS[id]))}
          >
            {text(id)}
          </Button>
        ))}
        {children}
      </Row>
      <Row>
        <TextField
          label={text("until")}
          hint={zone}
          type="datetime-local"
          value={typed}
          error={isWrong ? text("wrong") : undefined}
          onChange={(event) => {
            setTyped(event.target.value);
            setWrong(false);
          }}
        />
        {typed !== "" && (
          <Button writes isBusy={isBusy} onClick={chooseTyped}>
            {untilLabel}
          </Button>
        )}
      </Row>
    </>
  );
}
