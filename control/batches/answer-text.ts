/** The answer as JSON without line breaks; in JSON they are only between values. */
export function inOneLine(answer: string): string {
  try {
    JSON.parse(answer);
    return answer.replace(/[\r\n]+/g, " ");
  } catch {
    return JSON.stringify(answer);
  }
}
