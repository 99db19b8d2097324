"""The shop's own pages."""

from django.http import HttpResponse
from django.urls import path


def home(request):
    return HttpResponse(f"The shop of {request.user.get_username() or 'nobody yet'}")


urlpatterns = [path("", home)]
