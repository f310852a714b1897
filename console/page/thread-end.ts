/** A conversation is opened at what is new in it, else at its end, where it goes on when one writes and while one is there. */
import type { Thread } from '../../view/state.ts'
import type { App } from './app.ts'
import { newIn } from './thread.ts'

/** So near to the end counts as being there, in pixels. */
const NEAR = 48
const GAP = 12

export class ThreadEnd {
  #id: string | undefined
  #turns = 0
  #begin: App['ui']['begin']
  #wasThere = false

  /** Before the page is drawn anew. */
  look(place: HTMLElement): void {
    const scroller = scrollerOf(place)
    this.#wasThere =
      scroller !== undefined && scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR
  }

  /** After that. A question above everything else stays in sight. */
  follow(place: HTMLElement, app: App): void {
    const { open, screen } = app.ui
    const isTask = screen === 'inbox' || screen === 'sent'
    const thread = open === undefined || !isTask ? undefined : app.view.threads.get(open)?.thread
    if (thread === undefined) {
      if (open !== this.#id) this.#id = undefined
      return
    }
    const { begin } = app.ui
    const isNew = open !== this.#id || begin !== this.#begin
    const grew = thread.turns.length > this.#turns
    const isMine = thread.turns.at(-1)?.mine === true
    const goesOn = isNew || (grew && (isMine || this.#wasThere))
    this.#id = open
    this.#turns = thread.turns.length
    this.#begin = begin
    const turn = isNew ? beginOf(app, thread) : undefined
    if (turn !== undefined) toTurn(place, turn)
    else if (goesOn && place.querySelector('.callout') === null) toEnd(place)
  }
}

/** The message at which a conversation was opened, or the first that was new. */
function beginOf(app: App, thread: Thread): number | undefined {
  const { begin } = app.ui
  return begin?.open === thread.interaction_id ? (begin.turn ?? newIn(app, thread)) : undefined
}

function toTurn(place: HTMLElement, turn: number): void {
  const item = place.querySelector(`[data-turn="${turn}"]`)
  const isNew = item?.previousElementSibling?.className === 'new-from'
  const first = isNew ? item.previousElementSibling : item
  const [scroller, head] = [scrollerOf(place), place.querySelector('.thread-head')]
  if (first === null || first === undefined || scroller === undefined || head === null) return
  // below what stays in sight: title, person and buttons, which come to stand there by the first move
  for (let moves = 0; moves < 2; moves += 1)
    scroller.scrollTop += first.getBoundingClientRect().top - head.getBoundingClientRect().bottom - GAP
}

function toEnd(place: HTMLElement): void {
  const scroller = scrollerOf(place)
  if (scroller !== undefined) scroller.scrollTop = scroller.scrollHeight
}

/** The pane of the conversation, or the page where that is as long as it is. */
export function scrollerOf(place: HTMLElement): Element | undefined {
  const pane = place.querySelector('.detail.thread')
  if (pane === null) return undefined
  return pane.scrollHeight > pane.clientHeight ? pane : (document.scrollingElement ?? undefined)
}
