/** The openai backend: any server that speaks the chat-completions interface. */
import { readFileSync } from 'node:fs'
import OpenAI from 'openai'
import { wordsOf } from '../protocol/encoding/errors.ts'
import { type Backend, BackendFailed, type BackendRequest, type ConversationTurn } from './backend.ts'
import { conversationText, promptMarker, systemText } from './prompt.ts'

const RESPONSE_BYTES_MAX = 4 * 1024 * 1024
const NO_KEY = 'none'
/** Some models begin with what they think, between these marks or up to the second one. */
const THOUGHTS = /^[\s\S]*<\/think>|<think>[\s\S]*$/
const CUT = '[The answer was cut here: the model reached its limit of length.]'
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
    apiKey: options.apiKey ?? NO_KEY,
    timeout: options.timeoutMs,
    maxRetries: 1,
    fetch: boundedFetch,
  })
  return {
    name: `openai:${model}`,
    async reply(request, signal) {
      const messages = conversation(request, promptMarker(options.random))
      try {
        return { text: answerIn(await client.chat.completions.create({ model, messages }, { signal })) }
      } catch (error) {
        if (error instanceof BackendFailed) throw error
        const said = wordsOf(error)
        const told = options.apiKey ? said.replaceAll(options.apiKey, '(the key)') : said
        throw new BackendFailed(`the model server failed: ${told}`)
      }
    },
  }
}

/** The text of a completion, without what the model thought; a server may have answered with anything. */
function answerIn(given: unknown): string {
  const { choices } = (given ?? {}) as { choices?: unknown }
  const [choice] = Array.isArray(choices) ? (choices as Partial<OpenAI.ChatCompletion.Choice>[]) : []
  if (choice?.message === undefined)
    throw new BackendFailed('what the server answered is not a chat completion; check --api-base')
  const { content } = choice.message
  if (content != null && typeof content !== 'string')
    throw new BackendFailed('the answer of the model is not text; choose another model')
  const text = (content ?? '').replace(THOUGHTS, '').trim()
  if (text === '') throw new BackendFailed('the model gave an empty answer')
  return choice.finish_reason === 'length' ? `${text}\n\n${CUT}` : text
}

/** The body is read as far as an answer can go: a server without end would fill the memory. */
async function boundedFetch(...given: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...given)
  let left = RESPONSE_BYTES_MAX
  const bounded = response.body?.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        left -= chunk.length
        if (left < 0) controller.error(new BackendFailed('the model server answered with more than 4 MiB'))
        else controller.enqueue(chunk)
      },
    }),
  )
  return new Response(bounded ?? null, response)
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
