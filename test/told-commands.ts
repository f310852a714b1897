/** What a document tells its reader to type, by whom, and the output that it shows. */

export type Who = 'alice' | 'bob' | 'hub' | 'stranger'
export type Step = { who: Who; line: string }
/** A block of commands, and the block of output right below it. */
export type Told = { steps: Step[]; shown: string | undefined }

const BLOCK = /```sh\n(# (?:Alice|Bob|Hub|Stranger)\b[\s\S]*?)```(?:\n\n```(?:json|text)\n([\s\S]*?)```)?/g

/** The blocks whose first line is the comment with a name; each later such comment hands over to that person. */
export function readBlocks(text: string): Told[] {
  return [...text.matchAll(BLOCK)].map(([, body = '', shown]) => ({ steps: readParts(body), shown }))
}

/** Their commands, in order. */
export const readSteps = (text: string): Step[] => readBlocks(text).flatMap(({ steps }) => steps)

function readParts(body: string): Step[] {
  return body.split(/^(?=# )/m).flatMap(part => {
    const [title = '', ...lines] = part.trim().split('\n')
    const who = /^# (\w+)/.exec(title)?.[1]?.toLowerCase() as Who
    return lines.filter(line => line !== '').map(line => ({ who, line }))
  })
}

/** The words behind the program, as a shell would hand them over. */
export const wordsOf = (line: string): string[] =>
  (
    line
      .replace(/^export \w+=\S+ && /, '')
      .replace(/\s+#.*$/, '')
      .match(/"[^"]*"|\S+/g) ?? []
  )
    .map(word => word.replace(/^"(.*)"$/, '$1'))
    .slice(2)

/**
 * Whether outputs are as a document shows them, one after the other. `…` stands for anything, also with the beginning
 * of a word before it, since ids and keys are new each time; blanks and line ends count as one.
 */
export function isShown(shown: string, outputs: readonly string[]): boolean {
  const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim()
  const pattern = oneLine(shown)
    .split(/ ?[\w-]*… ?/)
    .map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*?')
  return new RegExp(`^${pattern}$`).test(oneLine(outputs.join('\n')))
}
