/** The composer of a thread: words and files of this machine, kept as a draft until they are sent. */

import { textBounds } from '../../view/bounds.ts'
import { sayStillHere } from '../../view/next-step.ts'
import type { App } from './app.ts'
import { filesField } from './files-field.ts'
import { type Drawn, h } from './h.ts'
import { counter, isTooLong, typedIn } from './parts.ts'
import { withPath } from './ui.ts'
import { pasting, stillComing } from './upload.ts'

export function composer(app: App, id: string, peer: string): Drawn {
  const draft = app.draftOf(id)
  const isEmpty = draft.text.trim() === '' && draft.files.trim() === ''
  const isLong = isTooLong(draft.text, textBounds.message)
  const isComing = stillComing(app, id) !== undefined
  return h(
    'form',
    {
      class: 'composer',
      key: `composer-${id}`,
      onsubmit: event => {
        event.preventDefault()
        void app.send(id)
      },
      onkeydown: event => sendOnKey(event, () => void app.send(id)),
    },
    h('label', { for: 'composer' }, 'Write to ', h('bdi', {}, peer)),
    h('textarea', {
      id: 'composer',
      rows: '3',
      dir: 'auto',
      value: draft.text,
      disabled: draft.busy,
      'aria-describedby': 'composer-hint',
      oninput: event => app.setDraft(id, { text: typedIn(event), fault: undefined }),
      onpaste: pasting(app, id, {
        bound: textBounds.message,
        take: path => app.setDraft(id, { files: withPath(app.draftOf(id), path) }),
      }),
    }),
    counter(draft.text, textBounds.message),
    filesField(app, {
      of: id,
      id: 'composer-files',
      draft,
      set: change => app.setDraft(id, change),
    }),
    draft.fault !== undefined &&
      h('p', { class: 'fault', role: 'alert' }, sayStillHere(draft.fault, draft.isGone === true)),
    h(
      'div',
      { class: 'bar' },
      h(
        'button',
        { type: 'submit', class: 'main', disabled: draft.busy || isEmpty || isLong || isComing },
        draft.busy ? 'Sending …' : isComing ? 'Waiting for its files …' : 'Send',
      ),
      h(
        'span',
        { class: 'hint', id: 'composer-hint' },
        isEmpty ? 'Ctrl-Enter sends' : 'Kept as a draft by your node · Ctrl-Enter sends',
      ),
    ),
  )
}

/** Ctrl-Enter or Cmd-Enter; Enter alone is a new line, and ends what an input method composes. */
export function sendOnKey(event: Event, send: () => void): void {
  const { key, ctrlKey, metaKey, isComposing } = event as KeyboardEvent
  if (key !== 'Enter' || !(ctrlKey || metaKey) || isComposing) return
  event.preventDefault()
  send()
}
