/** The openai backend: any server that speaks the chat-completions interface. */
import { readFileSync } from 'node:fs'
import OpenAI from 'openai'
import { wordsOf } from '../protocol/encoding/errors.ts'
import { type Backend, BackendFailed, type BackendRequest, type ConversationTurn } from './backend.ts'
import { conversationText, promptMarker, systemText } from './prompt.ts'

const IMAGE_BYTES_MAX = 8 * 1024 * 1024

export type OpenAiOptions = {
  apiBase: string
  apiKey: string | undefined
  model: string | undefined
  timeoutMs: number
  random: (length: number) => Uint8Array
}

export function openAiBackend(options: OpenAiOptions): Backend {
  const { model } = options
  if (!/^https?:\/\//i.test(options.apiBase) || !URL.canParse(options.apiBase))
    throw new BackendFailed(`expected an http or https address for --api-base, got "${options.apiBase}"`)
  if (model === undefined) throw new BackendFailed('the openai backend needs a model; set --model')
  const client = new OpenAI({
    baseURL: options.apiBase,
    apiKey: options.apiKey ?? 'none',
    timeout: options.timeoutMs,
    maxRetries: 1,
  })
  return {
    name: `openai:${model}`,
    async reply(request, signal) {
      const messages = conversation(request, promptMarker(options.random))
      try {
        const completion = await client.chat.completions.create({ model, messages }, { signal })
        const text = completion.choices[0]?.message.content?.trim() ?? ''
        if (text === '') throw new BackendFailed('the model gave an empty answer')
        return { text }
      } catch (error) {
        if (error instanceof BackendFailed) throw error
        throw new BackendFailed(`the model server failed: ${wordsOf(error)}`)
      }
    },
  }
}

/** All turns are one message of the user: one of the assistant would be taken for what the model itself decided to say. */
function conversation(request: BackendRequest, marker: string): OpenAI.ChatCompletionMessageParam[] {
  const text = conversationText(request, marker)
  const images = request.turns.filter(turn => turn.role === 'peer').flatMap(imageParts)
  return [
    { role: 'system', content: systemText(request, marker) },
    { role: 'user', content: images.length === 0 ? text : [{ type: 'text', text }, ...images] },
  ]
}

function imageParts(turn: ConversationTurn): OpenAI.ChatCompletionContentPartImage[] {
  return turn.attachments
    .filter(attachment => /^image\/(png|jpeg|gif|webp)$/.test(attachment.mediaType))
    .flatMap(attachment => {
      if (attachment.path === null || attachment.bytes > IMAGE_BYTES_MAX) return []
      const bytes = readFileSync(attachment.path).toString('base64')
      return [
        { type: 'image_url' as const, image_url: { url: `data:${attachment.mediaType};base64,${bytes}` } },
      ]
    })
}
