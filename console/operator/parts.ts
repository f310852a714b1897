/** Small parts that more than one screen of the operator's page draws. */
import { type Drawn, h, type Kid } from '../page/h.ts'

const AID_SHOWN = 10

/** What a screen works with. */
export type Desk = {
  /** Draws the page again. */
  redraw(): void
  /** Says in the status line what happened. */
  say(text: string): void
  /** Runs something that may fail: a failure is said, and a token that does not hold any more ends the session. */
  attempt(work: () => Promise<void>): Promise<void>
  /** Asks before something happens; undefined where the person says no. */
  ask(question: Question): Promise<string | undefined>
}
export type Question = {
  title: string
  text: string
  yes: string
  /** Label of a line to fill in; without it there is none. */
  field?: string
  /** What stands in the line at first. */
  value?: string
  isSharp?: boolean
}

/** What one tab shows. */
export interface Screen {
  /** Called whenever it is opened, or is to be read anew. */
  load(): Promise<void>
  draw(): Kid
  /** The line that `/` goes to. */
  readonly searchId?: string
}

export const time = (iso: string | undefined): Drawn | string =>
  iso === undefined ? 'never' : h('time', { datetime: iso, title: iso }, shortTime(iso))

/** A time of which only the day is known. */
export const day = (iso: string): Drawn => h('time', { datetime: iso }, dayOf(new Date(iso)))

const dayOf = (at: Date): string =>
  at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })

function shortTime(iso: string): string {
  const at = new Date(iso)
  const isToday = at.toDateString() === new Date().toDateString()
  return isToday ? at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' }) : dayOf(at)
}

/** An AID that can be told apart at a glance, and read whole. */
export const aidOf = (aid: string): Drawn =>
  h('code', { class: 'aid', title: aid }, `${aid.slice(0, AID_SHOWN)}…`)

export const whole = (aid: string): Drawn => h('code', { class: 'aid' }, aid)

export const tag = (text: string, kind = ''): Drawn => h('span', { class: `tag ${kind}` }, text)

export const stars = (average: number, count: number): Drawn =>
  count === 0
    ? h('span', { class: 'soft' }, 'no reviews')
    : h('span', {}, `${average.toFixed(1)} of 5`, h('span', { class: 'soft' }, ` (${count})`))

export const button = (
  text: string,
  onclick: () => void,
  more: Record<string, string | boolean> = {},
): Drawn => h('button', { type: 'button', onclick, ...more }, text)

export const number = (value: number): string => value.toLocaleString('en-GB')

export function bytes(value: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  const at = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, value)) / 10))
  const shown = value / 2 ** (10 * at)
  return `${at === 0 ? shown : shown.toFixed(1)} ${units[at]}`
}

/** What stands where a list is empty, or not there yet. */
export const nothing = (text: string): Drawn => h('p', { class: 'nothing' }, text)
