/**
 * A task of a stranger is approved by a person, never by the model: where the client can put a question to its user,
 * reading a task that waits asks that question, until it is answered, twice a session at most.
 */
import { plainLine } from '../protocol/encoding/plain-text.ts'
import type { ToolContext } from './tool.ts'

const PREVIEW_CHARACTERS_MAX = 400
/** A question that found nobody is put once more. */
export const ASKS_MAX = 2
const ANSWERS = { approve: 'take it', decline: 'decline it', later: 'decide later' } as const

/** The user of the client. */
export type AskUser = {
  /** Puts a question; resolves to the answer's name, or undefined when there is none. */
  put(question: string, answers: Readonly<Record<string, string>>): Promise<string | undefined>
  /** It was put in an earlier round of this call. */
  isAnswered(question: string): boolean
}

type Waiting = {
  interaction_id: string
  peer: string
  turns: readonly { mine: boolean; text: string }[]
}

/** A stranger's words on one line, unable to end the quotation. */
export const quoted = (words: string): string =>
  plainLine(words, PREVIEW_CHARACTERS_MAX).replace(/[“”"]/g, '’')

/** Asks about a waiting task and does what the user said; true when its state has changed. */
export async function askAbout(waiting: Waiting, context: ToolContext): Promise<boolean> {
  const { interaction_id } = waiting
  const words = waiting.turns.find(turn => !turn.mine)?.text ?? ''
  const question = `${waiting.peer} is not a contact of yours and asks your agent for this: “${quoted(words)}”`
  const answer = await askOf(interaction_id, { question, answers: ANSWERS }, context)
  if (answer === 'approve') await context.call('approve', { interaction_id })
  else if (answer === 'decline') await context.call('decline', { interaction_id })
  else return false
  return true
}

type Question = { question: string; answers: Readonly<Record<string, string>> }

/** The answer to a question about a task, where there is a user to ask and it was not put too often. */
export async function askOf(
  interactionId: string,
  { question, answers }: Question,
  { askUser, asked }: ToolContext,
): Promise<string | undefined> {
  if (askUser === undefined) return undefined
  if (!askUser.isAnswered(question)) {
    const times = asked.get(interactionId) ?? 0
    if (times >= ASKS_MAX) return undefined
    asked.set(interactionId, times + 1)
  }
  const answer = await askUser.put(question, answers)
  if (answer !== undefined) asked.set(interactionId, ASKS_MAX)
  return answer
}
