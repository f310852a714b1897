/** What a person has done with the screens: where they are, what is selected, what is being written or asked. */
import type { OperationInput, OperationName } from '../protocol/control/operations.ts'
import type { BulkName } from '../view/bulk.ts'
import type { Screen } from '../view/rows.ts'
import type { Tone } from '../view/sentences.ts'
import type { Values } from '../view/settings/field.ts'
import type { Look } from './conversation.ts'
import type { Buffer } from './edit.ts'

export type Size = { readonly columns: number; readonly rows: number }

export type Pane = {
  /** Id of a row. */
  readonly selected?: string | undefined
  /** Place of the first row that is shown. */
  readonly top: number
  readonly filter: string
}

/** What is written: a reply in a task, or a new task for an agent. */
export type Target =
  | { readonly kind: 'reply'; readonly id: string }
  | { readonly kind: 'delegate'; readonly to: string; readonly name: string }

export type Composer = {
  readonly target: Target
  readonly buffer: Buffer
  /** Paths of files that go along. */
  readonly files: readonly string[]
  readonly isSending: boolean
  readonly fault?: string
  /** That is, because the node gave no answer. */
  readonly isUnanswered?: boolean
}

export type PromptKind =
  | 'filter'
  | 'command'
  /** In the open conversation, and in all of them. */
  | 'search'
  | 'search_all'
  | 'find'
  | 'attach'
  | 'save'
  | 'contact'
  | 'reason'
  | 'rate'
  | 'question'
  | 'hub'
  | 'hub_name'
export type Prompt = {
  readonly kind: PromptKind
  readonly buffer: Buffer
  /** What `tab` found, and which of them stands in the line. */
  readonly completions?: { readonly all: readonly string[]; readonly n: number }
  /** Which of the lines before stands here, counted from the newest, and what was typed before that. */
  readonly recalled?: { readonly n: number; readonly typed: string }
  /** The task, agent or hub that it is about. */
  readonly about?: string
  /** The question to which this line belongs, and to which it goes back. */
  readonly question?: Confirm
}

/** A setting that is asked field by field. */
export type Form = {
  /** Of the setting. */
  readonly id: string
  readonly values: Values
  /** Place of the field that is asked, among those that are asked by these values. */
  readonly at: number
  /** What is typed of that field, where it is typed. */
  readonly buffer: Buffer
  readonly fault?: string
  /** What the trial of these values said. */
  readonly told?: Toast
  readonly isSending: boolean
}

export type Confirm = {
  readonly asks: string
  readonly facts: readonly (readonly [string, string])[]
  readonly yes: Effect
  /** The task whose approval it is: what the answer means is then read from the view as it comes in. */
  readonly about?: string
  /** The same question with a reason, where one can be given. */
  readonly because?: (reason: string) => Confirm
}

/** What a command printed, or a document to read. */
export type Output = {
  readonly title: string
  readonly text: string
  readonly top: number
  readonly isRunning: boolean
  /** When it began, where it runs. */
  readonly since?: number
  /** The line that is asked once it was read. */
  readonly then?: Prompt
}

export type Toast = { readonly says: string; readonly tone: Tone }

export type Model = {
  readonly size: Size
  readonly screen: Screen
  readonly panes: Readonly<Record<Screen, Pane>>
  readonly pendingOnly: boolean
  /** Only what was taken out of the lists. */
  readonly archivedOnly: boolean
  /** Tasks that are marked, each with why nothing was done with it the last time. */
  readonly marks: ReadonlyMap<string, string>
  /** The task whose conversation has the keys; `up` counts lines from its end. */
  readonly thread?: (Look & { readonly id: string }) | undefined
  /** Which of the messages that were found is selected. */
  readonly foundAt?: number | undefined
  /** How far the conversation beside the list was scrolled that is not open. */
  readonly peek?: { readonly id: string; readonly up: number } | undefined
  /** Clicks and the wheel go to the inbox, and select no text. */
  readonly hasMouse: boolean
  /** Lines that the page of the node is scrolled by. */
  readonly nodeTop: number
  readonly form?: Form | undefined
  readonly composer?: Composer | undefined
  readonly prompt?: Prompt | undefined
  readonly confirm?: Confirm | undefined
  /** Lines of what a question rests on that it is scrolled by. */
  readonly confirmTop?: number | undefined
  readonly help?: { readonly place: string; readonly top: number } | undefined
  readonly output?: Output | undefined
  /** Command lines that were run, the newest last. */
  readonly history: readonly string[]
  /** Digits typed so far. */
  readonly count: string
  readonly toast?: Toast | undefined
  /** Why the key that begins a text did nothing; stands until it was taken note of. */
  readonly refused?: string | undefined
  /** What was done last, and what `u` does about it; without an effect it can't be taken back. */
  readonly undo?: { readonly says: string; readonly effect?: Effect } | undefined
  /** Tasks and agents with a kept draft. */
  readonly drafts: ReadonlySet<string>
  /** What was explained once. */
  readonly lessons: readonly string[]
  readonly isQuitting: boolean
  /** All is read out, so that nothing is out of sight. */
  readonly isReader?: boolean
  /** The terminal has no more than ASCII, so keys are written out. */
  readonly isAscii?: boolean
  /** There is no identity here, and no node. */
  readonly isNew: boolean
  /** The ways on of a node without a hub, or of nobody, stand on the screen. */
  readonly isWelcome: boolean
}

/** What a press leads to outside of the model; `tui/driver.ts` does it. */
export type Effect =
  | {
      readonly type: 'act'
      readonly name: OperationName
      readonly input: unknown
      readonly says: string
      readonly undo?: { says: string; effect: Effect }
      /** It takes a step back. */
      readonly isBack?: true
    }
  /** Only of `u`: a filter that was cleared. */
  | { readonly type: 'filter_again'; readonly screen: Screen; readonly filter: string }
  | { readonly type: 'open_thread'; readonly id: string; readonly read: boolean }
  | { readonly type: 'close_thread' }
  | { readonly type: 'more' | 'all' }
  /** The lists are narrowed as the model has them now. */
  | { readonly type: 'narrow' }
  | { readonly type: 'search'; readonly words: string }
  /** The next parts of texts of a conversation that are not here whole, or all of them. */
  | { readonly type: 'read_on'; readonly id: string; readonly all: boolean }
  | { readonly type: 'screen'; readonly screen: Screen }
  | { readonly type: 'find'; readonly query: string }
  | { readonly type: 'send'; readonly composer: Composer }
  | { readonly type: 'load_draft' | 'drop_draft'; readonly target: Target }
  | { readonly type: 'keep_draft'; readonly composer: Composer }
  | { readonly type: 'editor'; readonly composer: Composer }
  | { readonly type: 'complete'; readonly prompt: Prompt; readonly back: boolean }
  /** `isAsked`: a person has said yes to it, where it cannot be taken back. */
  | { readonly type: 'command'; readonly line: string; readonly isAsked?: true }
  | { readonly type: 'stop_command' }
  | { readonly type: 'save'; readonly id: string; readonly folder: string }
  | { readonly type: 'copy'; readonly text: string }
  /** Shows a page of ours, its commands as they are called here. */
  | { readonly type: 'read'; readonly title: string; readonly text: string; readonly then?: Prompt }
  /** How a hub is hosted, with the address of this node, which is started where it isn't. */
  | { readonly type: 'host' }
  | { readonly type: 'demo' }
  /** Sets or tries what was filled in. */
  | { readonly type: 'set' | 'try'; readonly id: string; readonly values: Values }
  | { readonly type: 'edit_form'; readonly form: Form }
  /** Several tasks, one after the other. */
  | {
      readonly type: 'bulk'
      readonly name: BulkName
      readonly ids: readonly string[]
      readonly reason?: string
    }
  | { readonly type: 'mouse'; readonly on: boolean }
  | { readonly type: 'account' | 'start_node' | 'refresh' | 'redraw' | 'suspend' | 'quit' }

export const act = <N extends OperationName>(
  name: N,
  input: OperationInput<N>,
  says: string,
): Extract<Effect, { type: 'act' }> => ({
  type: 'act',
  name,
  input,
  says,
})

const pane: Pane = { top: 0, filter: '' }

export const firstModel = (size: Size): Model => ({
  size,
  screen: 'inbox',
  panes: { inbox: pane, sent: pane, agents: pane, evidence: pane, node: pane },
  pendingOnly: false,
  archivedOnly: false,
  marks: new Map(),
  nodeTop: 0,
  hasMouse: false,
  count: '',
  history: [],
  drafts: new Set(),
  lessons: [],
  isQuitting: false,
  isNew: false,
  isWelcome: false,
})

/** From this width on the rows and the conversation stand beside each other. */
export const WIDE = 100
export const SMALLEST: Size = { columns: 40, rows: 12 }
export const isTooSmall = ({ columns, rows }: Size): boolean =>
  columns < SMALLEST.columns || rows < SMALLEST.rows

/** The name under which a draft is kept. */
export const draftKey = (target: Target): string => (target.kind === 'reply' ? target.id : target.to)
