/** The composer of a thread: words and files of this machine, kept as a draft until they are sent. */
import type { App } from './app.ts'
import { type Drawn, h } from './h.ts'
import { typedIn } from './parts.ts'
import { withPath } from './ui.ts'
import { uploadField } from './upload.ts'

export function composer(app: App, id: string, peer: string): Drawn {
  const draft = app.draftOf(id)
  const isEmpty = draft.text.trim() === '' && draft.files.trim() === ''
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
    }),
    h(
      'details',
      { class: 'attach', open: draft.files !== '' },
      h('summary', {}, 'Attach files'),
      uploadField(app, id, path => app.setDraft(id, { files: withPath(app.draftOf(id), path) })),
      h('label', { for: 'composer-files' }, 'Files of the machine of the node by their paths, one a line'),
      h('textarea', {
        id: 'composer-files',
        rows: '2',
        class: 'paths',
        spellcheck: 'false',
        value: draft.files,
        disabled: draft.busy,
        placeholder: '/home/you/report.pdf',
        oninput: event => app.setDraft(id, { files: typedIn(event), fault: undefined }),
      }),
    ),
    draft.fault !== undefined && h('p', { class: 'fault', role: 'alert' }, `Not sent: ${draft.fault}`),
    h(
      'div',
      { class: 'bar' },
      h(
        'button',
        { type: 'submit', class: 'main', disabled: draft.busy || isEmpty },
        draft.busy ? 'Sending …' : 'Send',
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
