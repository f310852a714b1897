/** What the page knows beside the node: which screen, what is open and selected, drafts, and a dialog; and its addresses. */
import { present } from '../../protocol/encoding/present.ts'
import type { Bulk, BulkResult } from '../../view/bulk.ts'
import { type Screen, screens } from '../../view/rows.ts'
import type { Tone } from '../../view/sentences.ts'
import type { Values } from '../../view/settings/field.ts'
import type { Uploading } from './upload.ts'

export type Draft = {
  text: string
  /** Files of this machine, by path, one a line. */
  files: string
  /** It is being sent. */
  busy: boolean
  /** Under which it was sent: the same again is done once, until something in it changes. */
  key?: string | undefined
  /** Why it was not sent. */
  fault?: string | undefined
  /** That is, because the node was away. */
  isGone?: boolean
}

/** What a new task is besides its words. */
export type Order = Draft & { capability: string; args: string; pay: boolean; maxCredits: string }

export type Dialog =
  | { kind: 'approve'; id: string }
  | { kind: 'review'; id: string; rating?: number; comment: string }
  | { kind: 'help' }
  /** A setting, as far as it is filled in. */
  | { kind: 'setting'; filling: Filling }
  /** One thing that is done with several tasks. */
  | { kind: 'bulk'; bulk: Bulk; results?: readonly BulkResult[]; given?: string }
  /** Places, people and messages by words; `at` is the row that Enter takes. */
  | { kind: 'palette'; words: string; at: number }
  /** Something that cannot be undone, or that others see: a question with a yes of its own. */
  | {
      kind: 'sure'
      title: string
      says: string
      yes: string
      /** Whether a reason may be given, and which. */
      reason?: string
      /** As far as it is written. */
      given?: string
      /** What is said once it is done. */
      done?: string
      run: (reason: string) => Promise<unknown>
    }

/** A form of the table of settings, as far as it is filled in. */
export type Filling = {
  readonly id: string
  readonly values: Values
  /** What is wrong, by field. */
  readonly faults: ReadonlyMap<string, string>
  /** What the node refused, and is about no one field. */
  readonly fault?: string | undefined
  /** All was chosen before it was opened: there is a question, and no form behind it. */
  readonly isWhole?: boolean
  /** The question before it is done is in front. */
  readonly isAsked?: boolean
  readonly busy?: boolean
  /** What trying it said. */
  readonly says?: { text: string; tone: Tone } | undefined
}

export type Ui = {
  screen: Screen
  /** An interaction, an AID or the number of a record, by screen. */
  open: string | undefined
  cursor: Partial<Record<Screen, string | undefined>>
  filter: Partial<Record<Screen, string>>
  /** Only tasks that want something of this person. */
  needsOnly: boolean
  /** Only what was taken out of the lists. */
  archivedOnly: boolean
  /** Tasks of the list in front with which one thing is done together. */
  selected: ReadonlySet<string>
  /** The form of a node without a hub. */
  joining: Filling | undefined
  /** Whether news are told outside of the page, and with their words. */
  notices: { on: boolean; words: boolean }
  /** The first row that is drawn, and how many are; more as they are scrolled to. */
  from: number
  shown: number
  /** Where the conversation that is open began to be read: at a message, or where so many were new. */
  begin?: { open: string | undefined; turn: number | undefined; unread: number }
  /** What is searched in the conversation that is open: the place one is at, and how many there are. */
  find: { words: string; at: number; count: number } | undefined
  /** How much of long texts is shown, by task and turn. */
  parts: ReadonlyMap<string, number>
  dialog: (Dialog & { fault?: string | undefined; isGone?: boolean; busy?: boolean }) | undefined
  drafts: Map<string, Draft>
  orders: Map<string, Order>
  /** Files on their way to the node, by the draft that they are for. */
  uploads: Map<string, readonly Uploading[]>
  /** Files that this page gave to the node, by path. */
  given: Map<string, File>
  /** Paths of files that were given to the node and are not there any more. */
  gone: ReadonlySet<string>
  /** What was last done, said in the live region and shown for a while. */
  said: { text: string; tone: Tone } | undefined
  /** As it was switched on this page; else the node says it. */
  keysOn?: boolean
}

export const ROWS_SHOWN = 60
export const emptyDraft: Draft = { text: '', files: '', busy: false }
export const emptyOrder: Order = { ...emptyDraft, capability: '', args: '', pay: false, maxCredits: '' }

/** Paths of a draft, as they are given to the node. */
export const filesIn = ({ files }: Pick<Draft, 'files'>): string[] =>
  files
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')

/** The paths of a draft with one more. */
export const withPath = (draft: Pick<Draft, 'files'>, path: string): string =>
  [...filesIn(draft), path].join('\n')

export const titles: Record<Screen, string> = {
  inbox: 'To me',
  sent: 'From me',
  agents: 'Agents',
  evidence: 'Evidence',
  node: 'Node',
}

export type Route = {
  screen: Screen
  open: string | undefined
  /** What the list is narrowed to: words, and whether only to what waits for this person. */
  q?: string | undefined
  waits?: boolean | undefined
  /** Only what was archived. */
  archived?: boolean | undefined
  /** The message at which a conversation is opened. */
  turn?: number | undefined
}

/** The fragment of a place on the page; it names ids and words that were searched, and never a secret. */
export function addressOf({ screen, open, q = '', waits = false, archived = false, turn }: Route): string {
  const place = open === undefined ? `#/${screen}` : `#/${screen}/${encodeURIComponent(open)}`
  const query = new URLSearchParams()
  if (q.trim() !== '') query.set('q', q.trim())
  if (waits) query.set('waits', 'yes')
  if (archived) query.set('archived', 'yes')
  if (turn !== undefined) query.set('turn', String(turn))
  return query.size === 0 ? place : `${place}?${query}`
}

/** What may be open on each screen: the id of a task, an AID, the number of a record. */
const PLACES: Record<Screen, RegExp | undefined> = {
  inbox: /^[\w-]{22}$/,
  sent: /^[\w-]{22}$/,
  agents: /^[\w-]{44}$/,
  evidence: /^\d{1,15}$/,
  node: undefined,
}
const WORDS_MAX = 256

/** The place that a fragment names; the inbox where it names none. Whoever made the link opens nothing but a place. */
export function routeOf(fragment: string): Route {
  const [, name, id, query] = /^#\/([a-z]+)(?:\/([\w-]{1,64}))?(?:\?(.{0,2000}))?$/.exec(fragment) ?? []
  const screen = screens.find(one => one === name)
  if (screen === undefined) return { screen: 'inbox', open: undefined }
  const open = id !== undefined && PLACES[screen]?.test(id) === true ? id : undefined
  const given = new URLSearchParams(query)
  const turn = /^\d{1,7}$/.test(given.get('turn') ?? '') ? Number(given.get('turn')) : undefined
  const isTasks = screen === 'inbox' || screen === 'sent'
  return {
    screen,
    open,
    ...present({
      q: given.get('q')?.slice(0, WORDS_MAX) || undefined,
      waits: (isTasks && given.get('waits') === 'yes') || undefined,
      archived: (isTasks && given.get('archived') === 'yes') || undefined,
      turn: isTasks && open !== undefined ? turn : undefined,
    }),
  }
}
