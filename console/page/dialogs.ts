/** Questions before what costs, ends or cannot be undone: each has a yes of its own, which is not the key that asked. */
import { present } from '../../protocol/encoding/present.ts'
import { approvalOf } from '../../view/approvals.ts'
import { keyText } from '../../view/keys.ts'
import type { App } from './app.ts'
import { type Drawn, h, type Kid } from './h.ts'
import { pageKeys } from './keys.ts'
import { paletteBox } from './palette.ts'
import { button, facts, sentence, typedIn } from './parts.ts'
import type { Dialog } from './ui.ts'

type Of<K extends Dialog['kind']> = Extract<Dialog, { kind: K }>
type Asked = NonNullable<App['ui']['dialog']>

export function dialogBox(app: App): Drawn | undefined {
  const { dialog } = app.ui
  if (dialog === undefined) return undefined
  switch (dialog.kind) {
    case 'approve':
      return approveBox(app, dialog)
    case 'review':
      return reviewBox(app, dialog)
    case 'sure':
      return sureBox(app, dialog)
    case 'palette':
      return paletteBox(app, dialog)
    case 'help':
      return helpBox(app)
  }
}

type Box = {
  title: string
  yes?: string
  /** Without it there is nothing to say yes to yet. */
  run?: (() => void) | undefined
  asked?: Asked
  key: string
  /** What other keys do, where nobody is typing. */
  onkey?: (key: string) => void
}

/** `y` is the yes from the keyboard; Enter, which may be still on its way from before, is not. */
function box(app: App, { title, yes, run, asked, key, onkey }: Box, ...kids: Kid[]): Drawn {
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
        if (isWriting(target) || !app.keysOn) return
        if (pressed === 'y') run?.()
        else if (pressed === 'n' || pressed === 'q') app.close()
        else onkey?.(pressed)
      },
    },
    h('h2', { id: 'dialog-title', tabindex: '-1' }, title),
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
  target instanceof HTMLTextAreaElement || (target instanceof HTMLInputElement && target.type !== 'radio')

function approveBox(app: App, dialog: Of<'approve'> & Asked): Drawn {
  const item = app.view.interactions.get(dialog.id)
  const approval = item && approvalOf(app.view, item)
  if (approval === undefined)
    return box(
      app,
      { title: 'Nothing waits for you here any more', key: 'gone' },
      h('p', {}, 'It was answered meanwhile.'),
    )
  const isPayment = approval.kind === 'payment'
  const says = isPayment ? 'the payment is on its way' : 'the task is yours'
  const run = () => void app.confirm(() => app.live.act('approve', approval.order), says)
  return box(
    app,
    { title: approval.asks, yes: isPayment ? 'Pay' : 'Take it', run, asked: dialog, key: 'approve' },
    facts(
      approval.facts.map(([name, value]) => [sentence(name), h('span', { dir: 'auto' }, value)] as const),
    ),
  )
}

function sureBox(app: App, dialog: Of<'sure'> & Asked): Drawn {
  const reason = () => (document.getElementById('reason') as HTMLInputElement | null)?.value.trim() ?? ''
  const run = () => void app.confirm(() => dialog.run(reason()), dialog.done ?? 'done')
  return box(
    app,
    { title: dialog.title, yes: dialog.yes, run, asked: dialog, key: 'sure' },
    h('p', {}, dialog.says),
    dialog.reason !== undefined && h('label', { for: 'reason' }, dialog.reason),
    dialog.reason !== undefined && h('input', { id: 'reason', maxlength: '1000', dir: 'auto' }),
  )
}

function reviewBox(app: App, dialog: Of<'review'> & Asked): Drawn {
  const { id, rating, comment } = dialog
  const change = (part: Partial<Of<'review'>>) => app.set({ dialog: { ...dialog, ...part } })
  const words = present({ comment: comment.trim() || undefined })
  const run =
    rating === undefined
      ? undefined
      : () =>
          void app.confirm(
            () => app.live.act('review', { interaction_id: id, rating, ...words }),
            `rated ${rating} of 5; the hub gets it as soon as it takes it`,
          )
  const yes = rating === undefined ? 'Rate' : `Rate ${rating} of 5`
  const onkey = (key: string) => {
    if (/^[1-5]$/.test(key)) change({ rating: Number(key) })
  }
  return box(
    app,
    { title: 'Rate this task', yes, run, asked: dialog, key: 'review', onkey },
    h(
      'fieldset',
      { class: 'stars' },
      h('legend', {}, 'Rating, 1 to 5'),
      [1, 2, 3, 4, 5].map(n =>
        h(
          'label',
          { key: n },
          h('input', {
            type: 'radio',
            name: 'rating',
            value: String(n),
            checked: n === rating,
            onchange: () => change({ rating: n }),
          }),
          `${n}`,
        ),
      ),
    ),
    h('label', { for: 'comment' }, 'Comment, which everybody can read'),
    h('textarea', {
      id: 'comment',
      rows: '3',
      dir: 'auto',
      value: comment,
      oninput: event => change({ comment: typedIn(event) }),
    }),
  )
}

function helpBox(app: App): Drawn {
  const rows = pageKeys(app)
  return box(
    app,
    { title: 'Keys of this screen', key: 'help' },
    h(
      'label',
      { class: 'check' },
      h('input', {
        type: 'checkbox',
        checked: app.keysOn,
        onchange: event => void app.setKeys((event.target as HTMLInputElement).checked),
      }),
      'Keys of one letter are on',
    ),
    h(
      'dl',
      { class: 'keys' },
      rows.map(row =>
        h(
          'div',
          { key: row.action },
          h(
            'dt',
            {},
            row.keys.map((key, i) => [i > 0 && ' ', h('kbd', { key }, keyText(key))]),
          ),
          h('dd', {}, row.pageSays ?? row.says),
        ),
      ),
      h('div', { key: 'send' }, h('dt', {}, h('kbd', {}, 'Ctrl-Enter')), h('dd', {}, 'send what is written')),
      h('div', { key: 'yes' }, h('dt', {}, h('kbd', {}, 'y')), h('dd', {}, 'yes to a question')),
      h('div', { key: 'no' }, h('dt', {}, h('kbd', {}, 'n')), h('dd', {}, 'no to a question')),
      h('div', { key: 'all' }, h('dt', {}, h('kbd', {}, 'Ctrl-K')), h('dd', {}, 'search everything')),
    ),
  )
}
