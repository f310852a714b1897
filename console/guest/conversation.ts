/** One conversation: what was said, and how it stands. A tab keeps it, so that loading the page again loses nothing. */
import type { Word } from './gateway.ts'

const KEPT = 'svc-guest'
const DRAFT = 'svc-guest-draft'

export type Line = { by: 'you' | 'agent' | 'note'; text: string; files: string[] }
/** `agreed`: both sides ended it; `you`: the agent was told; `lost`: the hub does not know it any more; `left`: the agent did. */
export type Over = 'agreed' | 'you' | 'lost' | 'left'

export type Conversation = {
  session: string
  handler: string
  aid: string
  remaining: number
  /** How many words of the agent came. */
  has: number
  lines: Line[]
  /** The agent asks for the end. */
  isAsked: boolean
  over: Over | undefined
}

export function begun(given: Pick<Conversation, 'session' | 'handler' | 'aid' | 'remaining'>): Conversation {
  return { ...given, has: 0, lines: [], isAsked: false, over: undefined }
}

/** After words of the agent, and with what the hub says of the session. */
export function withWords(held: Conversation, words: readonly Word[], isEnded: boolean): Conversation {
  const lines = words.flatMap(linesOf)
  const isAgreed = words.some(({ end }) => end === 'accepted')
  const isAsked = held.isAsked || words.some(({ end }) => end === 'requested')
  const over = isAgreed ? 'agreed' : (held.over ?? (isEnded ? 'lost' : undefined))
  return { ...held, has: held.has + words.length, lines: [...held.lines, ...lines], isAsked, over }
}

const note = (text: string): Line => ({ by: 'note', text, files: [] })

function linesOf({ body, system, end }: Word): Line[] {
  if (!system) return [{ by: 'agent', text: body, files: [] }]
  if (end === 'requested') return [note('The agent asks for the end.')]
  if (end !== 'accepted') return body === '' ? [] : [note(body)]
  return [note(body === '' ? 'The agent agreed to the end.' : `The agent ended this. It says: ${body}`)]
}

export function withOwn(held: Conversation, text: string, files: string[], remaining: number): Conversation {
  return { ...held, remaining, lines: [...held.lines, { by: 'you', text, files }] }
}

export function withEnd(held: Conversation, isAccepted: boolean): Conversation {
  const text = isAccepted ? 'You agreed to the end.' : 'You ended the conversation.'
  return { ...held, over: isAccepted ? 'agreed' : 'you', lines: [...held.lines, note(text)] }
}

/** What a tab keeps; where it keeps nothing, everything works until the page is loaded again. */
export const kept = {
  conversation(): Conversation | undefined {
    try {
      const text = sessionStorage.getItem(KEPT)
      return text === null ? undefined : (JSON.parse(text) as Conversation)
    } catch {
      return undefined
    }
  },
  keep(held: Conversation | undefined): void {
    put(KEPT, held === undefined ? undefined : JSON.stringify(held))
  },
  draft(): string {
    try {
      return sessionStorage.getItem(DRAFT) ?? ''
    } catch {
      return ''
    }
  },
  keepDraft(text: string): void {
    put(DRAFT, text === '' ? undefined : text)
  },
}

function put(name: string, text: string | undefined): void {
  try {
    if (text === undefined) sessionStorage.removeItem(name)
    else sessionStorage.setItem(name, text)
  } catch {
    // its room is full, or the browser keeps nothing
  }
}
