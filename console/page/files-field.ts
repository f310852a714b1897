/** Files that go along with words: those of this browser as rows, those of the machine of the node by their paths. */
import { FILES_MAX } from '../../protocol/control/console.ts'
import { fileName } from '../../protocol/encoding/file-names.ts'
import { size } from '../../view/ages.ts'
import type { App } from './app.ts'
import { type Drawn, h } from './h.ts'
import { button, field, typedIn } from './parts.ts'
import { type Draft, filesIn, withPath } from './ui.ts'
import { uploadField } from './upload.ts'

/** Where the node keeps what a browser gave it. */
const UPLOADED = /[/\\]uploads[/\\][0-9a-f]{32}[/\\]([^/\\]+)$/

type Place = {
  /** Of the draft, and of the field for paths. */
  of: string
  id: string
  draft: Draft
  set(change: { files: string; fault?: undefined }): void
}

export function filesField(app: App, { of, id, draft, set }: Place): Drawn {
  const lines = draft.files.split('\n')
  const uploaded = lines.filter(line => UPLOADED.test(line))
  const typed = lines.filter(line => !UPLOADED.test(line)).join('\n')
  const change = (files: readonly string[], paths: string) =>
    set({ files: [...files, paths].filter(part => part !== '').join('\n'), fault: undefined })
  const count = filesIn(draft).length
  return h(
    'details',
    { class: 'attach', open: draft.files !== '' || (app.ui.uploads.get(of) ?? []).length > 0 },
    h('summary', {}, 'Attach files'),
    uploadField(app, of, path => set({ files: withPath(app.filesOf(of), path) })),
    uploaded.length > 0 &&
      h(
        'ul',
        { class: 'files', 'aria-label': 'Files to send' },
        uploaded.map((path, i) => {
          const name = fileName(UPLOADED.exec(path)?.[1] ?? '')
          const bytes = app.ui.given.get(path)
          const without = () => change([...uploaded.slice(0, i), ...uploaded.slice(i + 1)], typed)
          return h(
            'li',
            { key: path },
            h('span', { class: 'file-name' }, h('bdi', {}, name)),
            bytes !== undefined && h('span', { class: 'soft' }, ` ${size(bytes)} `),
            button('Remove', without, {
              class: 'small',
              disabled: draft.busy,
              'aria-label': `Remove ${name}`,
            }),
          )
        }),
      ),
    field(
      'Files of the machine of the node by their paths, one a line',
      h('textarea', {
        id,
        rows: '2',
        class: 'paths',
        spellcheck: 'false',
        value: typed,
        disabled: draft.busy,
        placeholder: '/home/you/report.pdf',
        oninput: event => change(uploaded, typedIn(event)),
      }),
    ),
    count >= FILES_MAX * 0.8 &&
      count <= FILES_MAX &&
      h('p', { class: 'hint counter', role: 'status' }, `${count} of ${FILES_MAX} files`),
    count > FILES_MAX &&
      h(
        'p',
        { class: 'fault', role: 'alert' },
        `A message takes ${FILES_MAX} files; these are ${count}. Remove some before you send it.`,
      ),
  )
}
