#if Console
import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Ends a connection whose request does not come whole in time, or whose answer is not taken in time.
///
/// The idle time of the server begins anew with each byte, so that one byte a second of headers or of a body would keep a
/// connection, of which there are 64, for as long as its sender likes.
final class RequestDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// From the beginning, or the answer before, to the end of the headers; and from there to the end of the body.
    private static let headers = TimeAmount.seconds(10)
    private static let body = TimeAmount.seconds(10)
    /// For the rest of a body that is not read any more, because its request was answered already.
    private static let rest = TimeAmount.seconds(1)
    /// For an answer that is whole; a stream of events has no end.
    private static let answer = TimeAmount.seconds(30)

    private var isReading = false
    private var reading: Scheduled<Void>?
    private var writing: Scheduled<Void>?

    func handlerAdded(context: ChannelHandlerContext) { reading = end(context, in: Self.headers) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            isReading = true
            reading?.cancel()
            reading = end(context, in: Self.body)
        case .body: break
        case .end:
            isReading = false
            reading?.cancel()
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head):
            if head.headerFields[.contentType] != "text/event-stream" {
                writing?.cancel()
                writing = end(context, in: Self.answer)
            }
        case .body: break
        case .end:
            reading?.cancel()
            reading = end(context, in: isReading ? Self.rest : Self.headers)
            let taken = promise ?? context.eventLoop.makePromise()
            taken.futureResult.assumeIsolated().whenComplete { _ in self.writing?.cancel() }
            context.write(data, promise: taken)
            return
        }
        context.write(data, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { cancel() }

    private func cancel() {
        reading?.cancel()
        writing?.cancel()
    }

    private func end(_ context: ChannelHandlerContext, in time: TimeAmount) -> Scheduled<Void> {
        context.eventLoop.assumeIsolated().scheduleTask(in: time) { context.close(promise: nil) }
    }
}
#endif
