import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { answerValue, api, type Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { fieldsOf, ifMatch } from "../../data/untyped.ts";
import { CreateForm } from "../../forms/record/create-form.tsx";
import { fieldLabel, valueText } from "../../forms/record/field-words.ts";
import { RecordForm } from "../../forms/record/record-form.tsx";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { commonText } from "../../messages/common.ts";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { texts } from "../../messages/texts.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Button } from "../../ui/button.tsx";
import { Code } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Facts, Row, Stack } from "../../ui/layout.tsx";
import { Empty } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.ts";
import { RECIPE_READS } from "./deployment-reads.ts";
import { RECIPE_CONTROLS, recipeBody, recipeFormSchema, recipeValues } from "./recipe-form.ts";
import { SCRIPT_CONTROLS, SPEC_HEADINGS } from "./spec-form.tsx";

const text = texts("deployments", deploymentTexts);

type Recipe = Records["Recipe"];

interface RecipePanelProps {
  /** Null: one is being made; undefined: there is no such recipe. */
  readonly recipe: Recipe | null | undefined;
  readonly onClose: () => void;
  /** Called with the id of a recipe that was made. */
  readonly onMade: (id: string) => void;
}

/** One recipe: what it fills in, and its change; a built-in one can be copied. */
export function RecipePanel({ recipe, onClose, onMade }: RecipePanelProps) {
  const [isCopying, setCopying] = useState(false);
  const navigate = useNavigate();
  const isNew = recipe === null || isCopying;
  const title = isNew ? text("newRecipe") : <bdi>{recipe?.name ?? text("recipe")}</bdi>;
  return (
    <Dialog isOpen isKept={isNew} onClose={onClose} place="side" title={title}>
      {recipe === undefined ? (
        <Empty title={text("recipeGone")} />
      ) : isNew ? (
        <NewRecipe from={recipe} onMade={onMade} />
      ) : (
        <Stack>
          <Row>
            <Button
              writes
              tone="primary"
              onClick={() => void navigate({ to: "/deployments/new", search: { recipe: recipe.id } })}
            >
              {text("use")}
            </Button>
            <Button writes onClick={() => setCopying(true)}>
              {text("copyRecipe")}
            </Button>
            {!recipe.builtin && <DeleteRecipe recipe={recipe} onDone={onClose} />}
          </Row>
          {recipe.builtin ? <Shown recipe={recipe} /> : <Changed recipe={recipe} />}
        </Stack>
      )}
    </Dialog>
  );
}

/** What a recipe fills in; scripts below one another. */
function Shown({ recipe: { description, author, body } }: { readonly recipe: Recipe }) {
  const { zone } = useZone();
  const values = Object.entries({ description, author, ...body });
  const isScript = (name: string): boolean => Object.hasOwn(SCRIPT_CONTROLS, name);
  return (
    <>
      <Facts
        facts={values
          .filter(([name, value]) => !isScript(name) && typeof value !== "object")
          .map(([name, value]) => [fieldLabel(name), valueText(name, value, zone)])}
      />
      {values
        .filter(([name, value]) => isScript(name) && value !== "")
        .map(([name, value]) => (
          <Stack key={name}>
            <h3>{fieldLabel(name)}</h3>
            <Code text={String(value)} label={commonText("copy")} doneLabel={commonText("copied")} />
          </Stack>
        ))}
    </>
  );
}

function Changed({ recipe }: { readonly recipe: Recipe }) {
  const { id, name } = recipe;
  const { zone } = useZone();
  const queries = useQueryClient();
  const recordOf = (one: Recipe) => ({ ...recipeValues(one), body: one.body, rev: one.rev });
  return (
    <RecordForm
      what={text("recipeWhat")}
      name={name}
      specs={RECIPE_CONTROLS}
      schema={recipeFormSchema}
      record={recipeValues(recipe)}
      zone={zone}
      sends="all"
      send={async (values, header, now) =>
        await api.PUT("/api/v1/recipes/{id}", {
          params: { path: { id }, header },
          body: recipeBody(values, fieldsOf(now["body"])),
        })
      }
      readNow={async () => {
        const now = await queries.fetchQuery({
          ...read("/api/v1/recipes", { params: { query: { limit: "1000" } } }),
          staleTime: 0,
        });
        return recordOf(now.find((each) => each.id === id) ?? recipe);
      }}
      recordIn={(answer) => recordOf(answer as Recipe)}
      touches={RECIPE_READS}
      headings={SPEC_HEADINGS}
      controls={SCRIPT_CONTROLS}
      note={() => <p>{text("recipeBlank")}</p>}
    />
  );
}

function NewRecipe({ from, onMade }: { readonly from: Recipe | null; readonly onMade: (id: string) => void }) {
  const { zone } = useZone();
  const queries = useQueryClient();
  return (
    <CreateForm
      specs={RECIPE_CONTROLS}
      schema={recipeFormSchema}
      initial={from === null ? {} : { ...recipeValues(from), name: "", author: "" }}
      zone={zone}
      submitLabel={commonText("create")}
      headings={SPEC_HEADINGS}
      controls={SCRIPT_CONTROLS}
      note={() => <p>{text("recipeBlank")}</p>}
      onSubmit={async (values, idempotencyKey) => {
        const made = answerValue(
          await api.POST("/api/v1/recipes", {
            params: { header: { "idempotency-key": idempotencyKey } },
            body: recipeBody(values, from?.body ?? {}),
          }),
        );
        toast({ title: text("recipeCreated", { name: made.name }) });
        await queries.invalidateQueries({ queryKey: [RECIPE_READS[0]] });
        onMade(made.id);
      }}
    />
  );
}

/** Deletes it; what takes that back makes it again. */
function DeleteRecipe({ recipe, onDone }: { readonly recipe: Recipe; readonly onDone: () => void }) {
  const { id, name } = recipe;
  const write = useAnnouncedWrite<Records["CreateRecipe"] | null>({
    send: async (body) =>
      body === null
        ? await api.DELETE("/api/v1/recipes/{id}", { params: { path: { id }, header: ifMatch(recipe) } })
        : await api.POST("/api/v1/recipes", { body }),
    touches: RECIPE_READS,
    done: () => text("recipeDeleted", { name }),
    failed: () => text("recipeDeleteFailed", { name }),
    inverse: () => ({ variables: recipeBody(recipeValues(recipe), recipe.body), done: text("recipeBack", { name }) }),
    onDone,
  });
  return (
    <Button writes tone="danger" isBusy={write.isBusy} onClick={() => write.run(null)}>
      {commonText("delete")}
    </Button>
  );
}
