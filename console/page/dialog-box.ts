/** The box of every question: a title, what it rests on, a yes of its own, and a no. */
import { textBounds } from '../../view/bounds.ts'
import type { App } from './app.ts'
import { type Drawn, h, type Kid } from './h.ts'
import { button, counter, sentence, typedIn } from './parts.ts'

type Asked = NonNullable<App['ui']['dialog']>

type Frame = {
  title: string
  key: string
  /** What keys do, where nobody is typing and keys of one letter are on. */
  onkey?: (key: string) => void
}

export function frame(app: App, { title, key, onkey }: Frame, ...kids: Kid[]): Drawn {
  return h(
    'dialog',
    {
      key: `dialog-${key}`,
      'aria-labelledby': 'dialog-title',
      oncancel: event => {
        event.preventDefault()
        app.close()
      },
      onkeydown: event => {
        const { key: pressed, target } = event as KeyboardEvent
        if (!isWriting(target) && app.keysOn) onkey?.(pressed)
      },
    },
    h('h2', { id: 'dialog-title', tabindex: '-1' }, title),
    ...kids,
  )
}

type Box = {
  title: string
  yes?: string
  /** Without it there is nothing to say yes to yet. */
  run?: (() => void) | undefined
  asked?: Asked
  key: string
  /** What other keys do. */
  onkey?: (key: string) => void
}

/** `y` is the yes from the keyboard; Enter, which may be still on its way from before, is not. */
export function box(app: App, { title, yes, run, asked, key, onkey }: Box, ...kids: Kid[]): Drawn {
  const pressed = (key: string) => {
    if (key === 'y') run?.()
    else if (key === 'n' || key === 'q') app.close()
    else onkey?.(key)
  }
  return frame(
    app,
    { title, key, onkey: pressed },
    ...kids,
    asked?.fault !== undefined && h('p', { class: 'fault', role: 'alert' }, sentence(asked.fault)),
    h(
      'div',
      { class: 'bar' },
      yes !== undefined &&
        button(asked?.busy === true ? 'Waiting …' : yes, () => run?.(), {
          class: 'main',
          disabled: asked?.busy === true || run === undefined,
          title: `${yes} (y)`,
        }),
      button(yes === undefined ? 'Close' : 'No', () => app.close(), {
        title: `${yes === undefined ? 'Close' : 'No'} (n)`,
      }),
    ),
  )
}

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLTextAreaElement ||
  target instanceof HTMLSelectElement ||
  (target instanceof HTMLInputElement && target.type !== 'radio')

/** Why something is declined or withdrawn, as the other side reads it. */
export const reasonField = (label: string, given: string, set: (text: string) => void): Drawn =>
  h(
    'div',
    { class: 'field', key: 'reason' },
    h('label', { for: 'reason' }, label),
    h('input', {
      id: 'reason',
      dir: 'auto',
      autocomplete: 'off',
      value: given,
      oninput: event => set(typedIn(event)),
    }),
    counter(given, textBounds.reason),
  )
