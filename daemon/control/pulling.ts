/** What an interaction holds, as files in a folder of the user. */
import { lstatSync, rmdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { present } from '../../protocol/encoding/present.ts'
import { decodePayload, type Kind, kinds } from '../../protocol/mail/payload.ts'
import { documentCid } from '../../protocol/proof/documents.ts'
import {
  attachmentFileName,
  documentNames,
  refuseUnwritten,
  type Saved,
  saveBytes,
} from '../attachments/file-names.ts'
import type { Context } from '../context.ts'
import { makeFolders } from '../platform/folders.ts'
import type { Interaction } from '../store/threads.ts'

type Needs = Pick<Context, 'store' | 'threads' | 'attachments'>

/** Saves attachments and both documents as files; a folder that was made for nothing goes again. */
export function pullFiles(ctx: Needs, interaction: Interaction, out: string) {
  const directory = resolve(out)
  const absent = absentFolders(directory)
  try {
    makeFolders(directory)
  } catch (error) {
    removeEmpty(absent)
    refuseUnwritten(`cannot write to ${directory}`, error)
  }
  try {
    return saveAll(ctx, interaction, directory)
  } catch (error) {
    removeEmpty(absent)
    throw error
  }
}

/** A folder and those above it that are not there, the deepest first. */
function absentFolders(directory: string): string[] {
  const above = dirname(directory)
  if (above === directory || lstatSync(directory, { throwIfNoEntry: false }) !== undefined) return []
  return [directory, ...absentFolders(above)]
}

function removeEmpty(folders: readonly string[]): void {
  try {
    for (const folder of folders) rmdirSync(folder)
  } catch {
    // one that holds something stays, with those above it
  }
}

function saveAll(ctx: Needs, interaction: Interaction, directory: string) {
  const carrying = ctx.store.all<{ key: number }>(
    `SELECT key FROM messages WHERE interaction = ? AND EXISTS (
       SELECT 1 FROM message_attachments WHERE message = messages.key) ORDER BY key`,
    interaction.key,
  )
  const files = carrying.flatMap(message =>
    ctx.threads.attachmentsOf(message.key).map(({ name, mediaType, size, cid }) => ({
      name: attachmentFileName(name),
      media_type: mediaType,
      bytes: size,
      cid: cidText(cid),
      ...savedView(ctx.attachments.saveAs(cidText(cid), directory, name)),
    })),
  )
  const documents = documentsOf(ctx, interaction).map(([name, bytes]) => ({
    name,
    media_type: 'application/json',
    bytes: bytes.length,
    cid: cidText(contentId(bytes)),
    ...savedView(saveBytes(bytes, directory, name)),
  }))
  const pathOf = (name: string) => documents.find(document => document.name === name)?.path
  return {
    interaction_id: interaction.id,
    out: directory,
    files: [...files, ...documents],
    ...present({ request_file: pathOf(documentNames.request), result_file: pathOf(documentNames.result) }),
  }
}

const savedView = ({ path, wasThere }: Saved) => ({
  path,
  ...present({ already_there: wasThere || undefined }),
})

const DOCUMENT_KINDS = [kinds.delegate, kinds.result, kinds.message, kinds.quote]

/** Request and result documents, byte for byte as they were sent. */
function documentsOf(ctx: Needs, interaction: Interaction): [string, Uint8Array][] {
  const found: [string, Uint8Array][] = []
  for (const { key } of messagesOf(ctx, interaction, DOCUMENT_KINDS)) {
    const message = ctx.threads.message(key)
    const decoded = decodePayload(message.kind, message.payload)
    if (decoded.kind === kinds.delegate) found.push([documentNames.request, decoded.payload.document])
    else if ('document' in decoded.payload && interaction.resultCid === documentCid(decoded.payload.document))
      found.push([documentNames.result, decoded.payload.document])
  }
  return [...new Map(found).entries()]
}

/** Keys of the messages of some kinds, so that no more than one of them is in memory at a time. */
export function messagesOf(
  ctx: Needs,
  interaction: Interaction,
  ofKinds: readonly Kind[],
): { key: number }[] {
  return ctx.store.all<{ key: number }>(
    `SELECT key FROM messages WHERE interaction = ? AND number > 0 AND kind IN (${ofKinds.join(', ')}) ORDER BY key`,
    interaction.key,
  )
}
