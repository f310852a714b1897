/** A conversation is shown at its end, where it goes on: when it is opened, when one writes, and while one is there. */
import type { App } from './app.ts'

/** So near to the end counts as being there, in pixels. */
const NEAR = 48

export class ThreadEnd {
  #id: string | undefined
  #turns = 0
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
    const isNew = open !== this.#id
    const grew = thread.turns.length > this.#turns
    const isMine = thread.turns.at(-1)?.mine === true
    this.#id = open
    this.#turns = thread.turns.length
    if (place.querySelector('.callout') !== null) return
    if (isNew || (grew && (isMine || this.#wasThere))) toEnd(place)
  }
}

function toEnd(place: HTMLElement): void {
  const scroller = scrollerOf(place)
  if (scroller !== undefined) scroller.scrollTop = scroller.scrollHeight
}

/** The pane of the conversation, or the page where that is as long as it is. */
function scrollerOf(place: HTMLElement): Element | undefined {
  const pane = place.querySelector('.detail.thread')
  if (pane === null) return undefined
  return pane.scrollHeight > pane.clientHeight ? pane : (document.scrollingElement ?? undefined)
}
