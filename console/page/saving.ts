/** Handing to the browser's downloads: words, one file, or all files of a task. */
import { fileName } from '../../protocol/encoding/file-names.ts'
import { type App, faultOf } from './app.ts'
import type { NodeFile } from './download.ts'

type Attachment = { cid: string; name: string }

function fileOf({ live }: App, id: string, { cid, name }: Attachment): NodeFile {
  const path = async () => (await live.ask('attachmentLink', { interaction_id: id, cid })).path
  return { name, path }
}

export function saveText(app: App, text: string, name: string): void {
  app.save.text(text, name)
  app.say(`saving ${fileName(name)}`)
}

/** The bytes of an attachment. */
export async function download(app: App, id: string, file: Attachment): Promise<void> {
  try {
    await app.save.one(fileOf(app, id, file))
    app.say(`saving ${fileName(file.name)}; look at it before you open it`)
  } catch (error) {
    app.say(faultOf(error), 'bad')
  }
}

/** Attachments as one archive, and how many are in it. */
export async function downloadAll(
  app: App,
  id: string,
  { files, archive }: { files: readonly Attachment[]; archive: string },
): Promise<void> {
  let count = 0
  const told = () => app.say(`read ${count} of ${files.length} files`)
  try {
    told()
    const given = files.map(file => fileOf(app, id, file))
    await app.save.all(given, archive, () => {
      count += 1
      told()
    })
    app.say(`saving ${count} files as ${archive}; look at them before you open them`)
  } catch (error) {
    app.say(`${faultOf(error)}; none of the ${files.length} files is saved`, 'bad')
  }
}
