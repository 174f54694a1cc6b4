/** Asks an upstream whether it serves a model, before anything is saved (docs/rules/models.md#validation). */
import { useState } from "react";
import { answerValue, api, type Records } from "../../data/api.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";
import { complain } from "../../forms/record/use-announced-write.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { Row } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import { type ConnectionQuestion, isSameQuestion, questionOf } from "./connection-question.ts";

const text = texts("models", modelsTexts);

type Answer = Records["ModelValidation"];

/** The last answer, and what it was an answer to. */
interface Tested {
  readonly question: ConnectionQuestion;
  readonly answer: Answer;
}

interface ConnectionTestState {
  /** The answer to what the form says now; null: it was not asked, or something else was typed since. */
  readonly answerTo: (values: FieldValues) => Answer | null;
  /** Asks; null: there is nothing to ask, or nobody answered, which is told. */
  readonly ask: (values: FieldValues) => Promise<Answer | null>;
  readonly isBusy: boolean;
}

export function useConnectionTest(): ConnectionTestState {
  const [tested, setTested] = useState<Tested | null>(null);
  const [isBusy, setBusy] = useState(false);
  const ask = async (values: FieldValues): Promise<Answer | null> => {
    const question = questionOf(values);
    if (question === null) return null;
    setBusy(true);
    try {
      const answer = answerValue(await api.POST("/api/v1/models/validate", { body: question }));
      setTested({ question, answer });
      return answer;
    } catch (error) {
      complain(text("testFailed"), error);
      return null;
    } finally {
      setBusy(false);
    }
  };
  const answerTo = (values: FieldValues): Answer | null =>
    tested !== null && isSameQuestion(tested.question, questionOf(values)) ? tested.answer : null;
  return { answerTo, ask, isBusy };
}

/** A button that asks, and what the upstream has said. */
export function ConnectionTest({
  values,
  test: { answerTo, ask, isBusy },
}: {
  readonly values: FieldValues;
  readonly test: ConnectionTestState;
}) {
  const answer = answerTo(values);
  const canAsk = questionOf(values) !== null;
  return (
    <>
      <Row>
        <Button writes isBusy={isBusy} disabled={!canAsk} onClick={() => void ask(values)}>
          {text("test")}
        </Button>
        {!canAsk && <span>{text("testFirst")}</span>}
      </Row>
      {answer !== null && <Said answer={answer} />}
    </>
  );
}

function Said({ answer: { reachable, listed, warnings } }: { readonly answer: Answer }) {
  return (
    <Notice tone={reachable ? (warnings.length === 0 ? "good" : "warn") : "bad"}>
      {text(reachable ? (listed === true ? "testListed" : "testReached") : "testNotReached")}
      {warnings.length > 0 && (
        <ul>
          {warnings.map((warning) => (
            <li key={warning}>
              <bdi>{warning}</bdi>
            </li>
          ))}
        </ul>
      )}
    </Notice>
  );
}
