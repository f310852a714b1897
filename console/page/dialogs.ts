/** Questions before what costs, ends or cannot be undone: each has a yes of its own, which is not the key that asked. */
import { present } from '../../protocol/encoding/present.ts'
import { approvalOf } from '../../view/approvals.ts'
import { textBounds } from '../../view/bounds.ts'
import { keyText } from '../../view/keys.ts'
import type { App } from './app.ts'
import { box, frame, reasonField } from './dialog-box.ts'
import { back, dialogForm, submit } from './filling.ts'
import { type Drawn, h } from './h.ts'
import { pageKeys } from './keys.ts'
import { paletteBox } from './palette.ts'
import { counter, facts, isTooLong, sentence, typedIn } from './parts.ts'
import { bulkBox } from './selecting.ts'
import { settingBody, settingTitle } from './setting-form.ts'
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
    case 'setting':
      return settingBox(app, dialog)
    case 'bulk':
      return bulkBox(app, dialog)
    case 'palette':
      return paletteBox(app, dialog)
    case 'help':
      return helpBox(app)
  }
}

/** A setting: its form, then the question before it is done. */
function settingBox(app: App, { filling }: Of<'setting'>): Drawn {
  const form = dialogForm(app, filling)
  const isAsked = filling.isAsked === true
  const onkey = (key: string) => {
    if (!isAsked) return
    if (key === 'y') submit(form)
    else if (key === 'n' || key === 'q') back(form)
  }
  return frame(
    app,
    { title: settingTitle(form), key: `setting-${filling.id}`, onkey },
    settingBody(form, () => app.close()),
  )
}

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
  const { given = '' } = dialog
  const isLong = isTooLong(given, textBounds.reason)
  const run = isLong
    ? undefined
    : () => void app.confirm(() => dialog.run(given.trim()), dialog.done ?? 'done')
  return box(
    app,
    { title: dialog.title, yes: dialog.yes, run, asked: dialog, key: 'sure' },
    h('p', { class: 'asked' }, dialog.says),
    dialog.reason !== undefined &&
      reasonField(dialog.reason, given, text => app.set({ dialog: { ...dialog, given: text } })),
  )
}

function reviewBox(app: App, dialog: Of<'review'> & Asked): Drawn {
  const { id, rating, comment } = dialog
  const change = (part: Partial<Of<'review'>>) => app.set({ dialog: { ...dialog, ...part } })
  const words = present({ comment: comment.trim() || undefined })
  const run =
    rating === undefined || isTooLong(comment, textBounds.comment)
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
    counter(comment, textBounds.comment),
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
