/** What a screen asks of the node, of what a person typed or an event named. */
import { present } from '../protocol/encoding/present.ts'
import { NodeGone, NodeRefused, NotTheNode } from './node-client.ts'
import type { Refusal, View } from './state.ts'

/** What is set at the node, and what a setting is chosen from. */
export const settingsAsked = [
  'autoReplyShow',
  'autoReplyRuns',
  'contacts',
  'capabilityList',
  'autoReplyAgents',
  'a2a',
] as const

/** Tasks whose price was paid in one of these, and prices that wait: whoever answers one elsewhere names the task alone. */
export function quotedFor({ interactions }: View, rows: ReadonlySet<string>): string[] {
  if (rows.size === 0) return []
  const paid = [...interactions.values()].filter(
    ({ payment }) => payment?.state === 'open' || rows.has(payment?.paid_as ?? ''),
  )
  return paid.map(item => item.interaction_id).filter(id => !rows.has(id))
}

/** Words as one types them: each may be the beginning of one. */
export const beginnings = (words: string): string =>
  words
    .split(/\s+/)
    .filter(word => /[\p{L}\p{N}]/u.test(word))
    .map(word => (word.endsWith('*') ? word : `${word}*`))
    .join(' ')
    .slice(0, 256)

/** `cap:<name>` asks for a capability, anything else for words. */
export function wordsOf(query: string): { query?: string; capability?: string } {
  const capability = /^cap:(\S+)$/.exec(query.trim())?.[1]
  if (capability !== undefined) return { capability }
  return query.trim() === '' ? {} : { query: query.trim() }
}

/** What the view keeps of a call that failed. */
export function refusalOf(error: unknown, at: number): Refusal {
  const says = error instanceof Error ? error.message : 'the connection to the node ended'
  const next = error instanceof NodeRefused || error instanceof NodeGone ? error.next : undefined
  const code = error instanceof NodeRefused ? error.code : 'unreachable'
  return { code, says, at, ...present({ next }) }
}

/** Whether nobody answered at all. */
export const isNobody = (fault: unknown): boolean =>
  fault instanceof NodeGone && !(fault instanceof NotTheNode)

/** Whether a search of the directory that failed may find something now. */
export const hubCameBack = (before: View, now: View): boolean =>
  now.agents.refusal !== undefined &&
  now.status?.hub?.state === 'online' &&
  before.status?.hub?.state !== 'online'
