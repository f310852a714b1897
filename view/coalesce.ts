/**
 * How changes from outside reach a screen, as pure functions: events say what is out of date, a plan says what to ask
 * anew, and a screen is drawn for them at most ten times a second. What a key does is drawn at once.
 */
import type { NodeEventSeen } from './node-client.ts'

export const FRAMES_PER_SECOND_MAX = 10
const FRAME_MS = 1000 / FRAMES_PER_SECOND_MAX
/** Rows asked for in one call. */
export const ROWS_ASKED_MAX = 50

/** What is out of date. */
export type Dirty = {
  readonly rows: ReadonlySet<string>
  readonly status: boolean
  readonly evidence: boolean
  readonly settings: boolean
  /** Too much was missed: everything on the screens is asked anew. */
  readonly all: boolean
}
export const clean: Dirty = { rows: new Set(), status: false, evidence: false, settings: false, all: false }

/** What one event puts out of date. */
export function soiled(dirty: Dirty, { event, data }: NodeEventSeen): Dirty {
  const id = (data as { interaction_id?: unknown } | null)?.interaction_id
  const rows = typeof id === 'string' && !dirty.rows.has(id) ? new Set([...dirty.rows, id]) : dirty.rows
  switch (event) {
    case 'inbox':
    case 'message':
    case 'delivery':
      return { ...dirty, rows, status: true }
    case 'autoreply':
      return { ...dirty, rows, status: true, settings: true }
    case 'evidence':
      return { ...dirty, evidence: true, status: true }
    case 'hub':
      return { ...dirty, status: true }
    case 'settings':
      return { ...dirty, settings: true, status: true }
    // what happened while there was no stream is not known
    case 'open':
    case 'reset':
      return { ...dirty, all: true }
    default:
      return dirty
  }
}

export const isClean = (dirty: Dirty): boolean =>
  dirty.rows.size === 0 && !dirty.status && !dirty.evidence && !dirty.settings && !dirty.all

/** Milliseconds until the next frame for changes from outside may be drawn; 0 is now. */
export function frameDelay(lastFrameAt: number | undefined, now: number): number {
  if (lastFrameAt === undefined || now < lastFrameAt) return 0
  return Math.max(0, FRAME_MS - (now - lastFrameAt))
}

/** How long until the node is tried again: doubling from half a second to ten, each time somewhat different. */
export function retryDelay(attempt: number, random: number): number {
  const whole = Math.min(10_000, 500 * 2 ** Math.min(attempt, 8))
  return Math.round(whole * (0.5 + random / 2))
}
