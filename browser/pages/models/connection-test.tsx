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
import { type ConnectionQuestion, questionsOf } from "./connection-question.ts";

const text = texts("models", modelsTexts);

type Answer = Records["ModelValidation"];

/** The last answer, and what it was an answer to. */
interface Tested {
  readonly question: ConnectionQuestion;
  readonly answer: Answer;
}

interface ConnectionTestState {
  /** The answers to what the form says now, one for each address; null: it was not asked, or something else was typed since. */
  readonly answersTo: (values: FieldValues) => readonly Tested[] | null;
  /** Asks; null: there is nothing to ask, or nobody answered, which is told. */
  readonly ask: (values: FieldValues) => Promise<readonly Tested[] | null>;
  readonly isBusy: boolean;
}

/** True when somebody should look at the answers before the model is saved. */
export function hasWarnings(tested: readonly Tested[] | null): boolean {
  return tested?.some(({ answer }) => answer.warnings.length > 0) === true;
}

export function useConnectionTest(): ConnectionTestState {
  const [tested, setTested] = useState<readonly Tested[] | null>(null);
  const [isBusy, setBusy] = useState(false);
  const ask = async (values: FieldValues): Promise<readonly Tested[] | null> => {
    const questions = questionsOf(values);
    if (questions.length === 0) return null;
    setBusy(true);
    try {
      const answers = await Promise.all(
        questions.map(async (question) => ({
          question,
          answer: answerValue(await api.POST("/api/v1/models/validate", { body: question })),
        })),
      );
      setTested(answers);
      return answers;
    } catch (error) {
      complain(text("testFailed"), error);
      return null;
    } finally {
      setBusy(false);
    }
  };
  const answersTo = (values: FieldValues): readonly Tested[] | null =>
    JSON.stringify(tested?.map(({ question }) => question)) === JSON.stringify(questionsOf(values)) ? tested : null;
  return { answersTo, ask, isBusy };
}

/** A button that asks, and what each address has said. */
export function ConnectionTest({
  values,
  test: { answersTo, ask, isBusy },
}: {
  readonly values: FieldValues;
  readonly test: ConnectionTestState;
}) {
  const tested = answersTo(values) ?? [];
  const canAsk = questionsOf(values).length > 0;
  return (
    <>
      <Row>
        <Button writes isBusy={isBusy} disabled={!canAsk} onClick={() => void ask(values)}>
          {text("test")}
        </Button>
        {!canAsk && <span>{text("testFirst")}</span>}
      </Row>
      {tested.map(({ question: { api_base }, answer }) => (
        <Said key={api_base} address={tested.length > 1 ? `${api_base}: ` : ""} answer={answer} />
      ))}
    </>
  );
}

function Said({
  address,
  answer: { reachable, listed, warnings },
}: {
  readonly address: string;
  readonly answer: Answer;
}) {
  return (
    <Notice tone={reachable ? (warnings.length === 0 ? "good" : "warn") : "bad"}>
      <bdi>{address}</bdi>
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
