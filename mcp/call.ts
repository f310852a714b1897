/** Calls of tools as a model reads them: ready to make, with their arguments. What only a person may do is a request to one. */
import { plainLine } from '../protocol/encoding/plain-text.ts'

export type Arguments = Readonly<Record<string, unknown>>

const ARGUMENT_CHARACTERS_MAX = 200

/** `task_inbox {"interaction_id":"…"}`; long words of the caller are named, not repeated. */
export function callText(tool: string, args: Arguments = {}): string {
  const shown = Object.entries(args).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, shortened(value)]],
  )
  return `${tool} ${JSON.stringify(Object.fromEntries(shown))}`
}

function shortened(value: unknown): unknown {
  if (typeof value !== 'string') return value
  return value.length > ARGUMENT_CHARACTERS_MAX ? '<as before>' : plainLine(value, ARGUMENT_CHARACTERS_MAX)
}

/** No words at all. */
export const isBlank = (text: unknown): boolean =>
  text === undefined || (typeof text === 'string' && text.trim() === '')

/** A command of the command line, which a model asks for and does not run. */
export const askUserTo = (command: string): string => `ask your user to run: ${command}`
