/**
 * A task of a stranger is approved by a person, never by the model: where the client can put a question to its user,
 * reading a task that waits asks that question, until it is answered, twice a session at most.
 */
import { plainLine } from '../protocol/encoding/plain-text.ts'
import type { ToolContext } from './tool.ts'

const PREVIEW_CHARACTERS_MAX = 400
/** A question that found nobody is put once more. */
const ASKS_MAX = 2
const ANSWERS = { approve: 'take it', decline: 'decline it', later: 'decide later' } as const

/** Puts a question to the user of the client; resolves to the answer's name, or undefined when there is none. */
export type AskUser = (
  question: string,
  answers: Readonly<Record<string, string>>,
) => Promise<string | undefined>

type Waiting = {
  interaction_id: string
  peer: string
  turns: readonly { mine: boolean; text: string }[]
}

/** A stranger's words on one line, unable to end the quotation. */
const quoted = (words: string): string => plainLine(words, PREVIEW_CHARACTERS_MAX).replace(/[“”"]/g, '’')

/** Asks about a waiting task and does what the user said; true when its state has changed. */
export async function askAbout(waiting: Waiting, context: ToolContext): Promise<boolean> {
  const { interaction_id } = waiting
  const times = context.asked.get(interaction_id) ?? 0
  if (context.askUser === undefined || times === ASKS_MAX) return false
  context.asked.set(interaction_id, times + 1)
  const words = waiting.turns.find(turn => !turn.mine)?.text ?? ''
  const question = `${waiting.peer} is not a contact of yours and asks your agent for this: “${quoted(words)}”`
  const answer = await context.askUser(question, ANSWERS)
  if (answer !== undefined) context.asked.set(interaction_id, ASKS_MAX)
  if (answer === 'approve') await context.call('approve', { interaction_id })
  else if (answer === 'decline') await context.call('decline', { interaction_id })
  else return false
  return true
}
